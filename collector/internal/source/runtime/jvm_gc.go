package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/hsperf"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("jvm_gc", func() sampler.Source { return &jvmGC{} }) }

// jvmGC follows the collectors of JVMs through the performance data that they share: the process itself is not touched.
type jvmGC struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	jvms     seeker[jvm]
	clock    bpf.Clock
	buffer   []byte
	account  [128]byte // of a thread
	finished handover.Ring[finishedCollection]

	// Discovery: JVMs whose collections are not known.
	opening   map[*procwatch.Process]*opening
	notShared map[*procwatch.Process]bool
	notKnown  map[*procwatch.Process]string // collector
	refused   map[*procwatch.Process]bool
	crowded   int // JVMs whose threads are too many to read
}

const jvmNeeds = "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"

func (g *jvmGC) Name() string { return "jvm_gc" }

func (g *jvmGC) Start(ctx context.Context, registry *sampler.Registry) error {
	g.registry, g.watcher = registry, procwatch.Shared(registry)
	g.buffer = make([]byte, hsperf.BytesMost)
	g.opening = make(map[*procwatch.Process]*opening)
	g.notShared, g.refused = make(map[*procwatch.Process]bool), make(map[*procwatch.Process]bool)
	g.notKnown = make(map[*procwatch.Process]string)
	g.jvms.registry, g.jvms.look, g.jvms.shut = registry, g.look, (*jvm).close
	g.watcher.Subscribe(g.jvms.change)
	g.watcher.Subscribe(g.forget)
	registry.Every(ctx, 200*time.Millisecond, g.Finish)
	return nil
}

// forget drops what is known about processes that have ended.
func (g *jvmGC) forget(_, removed []*procwatch.Process) {
	g.jvms.mu.Lock()
	defer g.jvms.mu.Unlock()
	for _, process := range removed {
		if o := g.opening[process]; o != nil {
			go o.abandon()
		}
		delete(g.opening, process)
		delete(g.notShared, process)
		delete(g.notKnown, process)
		delete(g.refused, process)
	}
}

func (g *jvmGC) Discover(ctx context.Context) {
	g.watcher.Refresh(ctx)
	g.jvms.discover()
	g.jvms.mu.Lock()
	defer g.jvms.mu.Unlock()
	g.follow()
	switch {
	case len(g.refused) > 0:
		g.registry.Degraded(fmt.Sprintf("JVMs that cannot be inspected: %d", len(g.refused)), jvmNeeds)
	case len(g.notShared) > 0:
		g.registry.Degraded(fmt.Sprintf("JVMs that share no performance data (-XX:-UsePerfData or -XX:+PerfDisableSharedMem), "+
			"so that their collections are not known: %d", len(g.notShared)), "")
	case len(g.notKnown) > 0:
		for _, collector := range g.notKnown {
			g.registry.Degraded(fmt.Sprintf("JVMs with a collector that does not count its pauses (%s): %d", collector, len(g.notKnown)), "")
		}
	case g.crowded > 0:
		g.registry.Degraded(fmt.Sprintf("JVMs whose GC and compiler threads are not read, because all JVMs together have more than %d: %d",
			mostJVMThreads, g.crowded), "")
	default:
		g.registry.Degraded("", "")
	}
}

// follow follows the threads of the JVMs. Called with jvms.mu held.
func (g *jvmGC) follow() {
	left := mostJVMThreads
	g.crowded = 0
	for _, j := range g.jvms.found {
		if count := j.threads.follow(g.registry, j.watched, left); count <= left {
			left -= count
		} else {
			g.crowded++
		}
	}
}

// look finds out whether a process is a JVM. Its clock is learned concurrently with discovery, so that is decided a
// second later. Called with jvms.mu held.
func (g *jvmGC) look(watched *procwatch.Process) (*jvm, bool) {
	if o := g.opening[watched]; o != nil {
		select {
		case <-o.done:
		default:
			return nil, false
		}
		delete(g.opening, watched)
		return g.watch(watched, o)
	}
	delete(g.notShared, watched)
	delete(g.refused, watched)
	file, err := hsperf.Open(g.registry.Roots.Proc, watched.PID)
	switch {
	case errors.Is(err, hsperf.ErrNotShared):
		g.notShared[watched] = true
		describeByCommandLine(g.registry, watched)
		return nil, false // it might still be starting
	case errors.Is(err, fs.ErrPermission) && watched.Executable == "java":
		g.refused[watched] = true
		return nil, false
	case err != nil:
		return nil, false
	}
	g.opening[watched] = open(file)
	return nil, false
}

// watch starts following a JVM whose clock is known.
func (g *jvmGC) watch(watched *procwatch.Process, o *opening) (*jvm, bool) {
	if o.err != nil {
		g.registry.Log.Info("performance data of a JVM cannot be read", "pid", watched.PID, "error", o.err)
		return nil, false
	}
	j, others := newJVM(g.registry, watched, o)
	if j == nil {
		g.notKnown[watched] = others
		return nil, true
	}
	return j, true
}

func (g *jvmGC) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	g.clock.Set()
	for _, j := range g.jvms.found {
		if !procfs.Runs(j.alive) {
			continue // the file keeps its last content: possibly that a collection is running
		}
		if data, ok := j.file.Read(g.buffer[:j.used]); ok && len(data) == j.used {
			j.read(data, &g.clock, &g.finished)
			j.record(data, tick, recorder)
		}
		j.threads.record(g.account[:], recorder)
	}
}

// Finish implements sampler.Finisher.
func (g *jvmGC) Finish() { finish(&g.finished, g.registry) }

// EachCounter implements sampler.Counters.
func (g *jvmGC) EachCounter(yield func(name string, value float64)) {
	yield("lost_cycles_total", float64(g.finished.Lost()))
}

func (g *jvmGC) Close() error {
	g.jvms.close()
	for _, o := range g.opening {
		o.abandon()
	}
	return nil
}
