package process

import (
	"context"
	"math/bits"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("process", func() sampler.Source { return &process{} }) }

// process samples the CPU time and the threads of the watched processes.
type process struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	sampled  sampler.Members[*procwatch.Process, sampledProcess]
	buffer   [512]byte
}

type sampledProcess struct {
	clock        int32
	stat         procfs.Held
	cpu, threads batch.Slot
}

func (p *process) Name() string { return "process" }

func (p *process) Start(_ context.Context, registry *sampler.Registry) error {
	p.registry, p.watcher = registry, procwatch.Shared(registry)
	p.sampled = sampler.Members[*procwatch.Process, sampledProcess]{
		Registry: registry, Open: p.open, Shut: func(s *sampledProcess) { s.stat.Close() },
	}
	p.watcher.Subscribe(p.ended)
	p.watcher.Subscribe(p.sampled.Change)
	return nil
}

func (p *process) Discover(ctx context.Context) {
	p.watcher.Refresh(ctx)
	p.registry.Degraded(limits(p.watcher.Hidden(), p.watcher.Shed()))
}

// limits says what is not known of processes whose programs are hidden, and that others are not watched.
func limits(hidden, shed int) (detail, needs string) {
	switch {
	case hidden > 0:
		return "the programs of " + strconv.Itoa(hidden) + " processes cannot be read", "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
	case shed > 0:
		return strconv.Itoa(shed) + " processes more than the limit of " + strconv.Itoa(procwatch.Limit) + " are not watched", ""
	}
	return "", ""
}

func (p *process) open(watched *procwatch.Process) *sampledProcess {
	p.describe(watched)
	return &sampledProcess{
		clock:   procfs.CPUClock(watched.PID),
		stat:    procfs.HoldIfExists(filepath.Join(p.registry.Roots.Proc, strconv.Itoa(watched.PID), "stat")),
		cpu:     p.registry.Series(watched.Resource, catalogue.ProcessCPUUS),
		threads: p.registry.Series(watched.Resource, catalogue.ProcessThreads),
	}
}

// ended makes an event of each process that is gone, while it still has its resource.
func (p *process) ended(_, removed []*procwatch.Process) {
	for _, watched := range removed {
		p.registry.Event(watched.Resource, "process.exit", time.Now().UnixMicro(), 0, map[string]string{"command": watched.Command})
	}
}

func (p *process) describe(watched *procwatch.Process) {
	startUS := time.Now().UnixMicro()
	var boot unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) == nil {
		// Field 22 of /proc/PID/stat counts units of 10 ms since boot.
		startUS -= boot.Nano()/1000 - int64(watched.StartTicks)*10_000
	}
	p.registry.Event(watched.Resource, "process.start", startUS, 0, map[string]string{"command": watched.Command})
	p.registry.Fact(watched.Resource, "process.command", watched.Command)
	p.registry.Fact(watched.Resource, "process.executable", watched.Executable)
	var affinity unix.CPUSet
	if err := unix.SchedGetaffinity(watched.PID, &affinity); err == nil {
		cpus := 0
		for _, word := range affinity {
			cpus += bits.OnesCount64(uint64(word))
		}
		p.registry.Fact(watched.Resource, "process.affinity_cpus", strconv.Itoa(cpus))
	}
}

func (p *process) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	var now unix.Timespec
	for i, s := range p.sampled.All {
		if unix.ClockGettime(s.clock, &now) == nil {
			recorder.Delta(s.cpu, uint64(now.Nano()/1000))
		}
		// Counting threads makes the kernel visit each of them, so it is spread over a second.
		if tick.Due(i) {
			if text, ok := s.stat.Read(p.buffer[:]); ok {
				if threads, ok := procfs.ParseThreads(text); ok {
					recorder.Set(s.threads, float64(threads))
				}
			}
		}
	}
}

func (p *process) Close() error {
	p.sampled.Close()
	return nil
}
