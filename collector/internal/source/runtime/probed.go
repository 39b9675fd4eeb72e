package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/probes"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// probed is a source that follows the collections of a runtime with probes where they begin and end. The kernel
// programs are loaded when the first process with that runtime is found.
type probed struct {
	runtime runtimeKind

	registry  *sampler.Registry
	watcher   *procwatch.Watcher
	probes    *probes.Probes // nil until needed; changed only in Registry.Between
	missing   error          // why they are not available
	processes seeker[probedProcess]
	clock     bpf.Clock
	finished  handover.Ring[finishedCollection]
	numbers   uint32
	lost      uint64
	without   map[*procwatch.Process]string // processes of the runtime that cannot be probed, and why; guarded by processes.mu
}

// probedOptions are the tables [sources.nodejs_gc], [sources.python_gc], and [sources.ruby_gc].
type probedOptions struct {
	Probes bool `toml:"probes"` // false: never attach probes to processes
}

func (g *probed) Name() string { return g.runtime.source }

func (g *probed) Start(ctx context.Context, registry *sampler.Registry) error {
	g.registry, g.watcher = registry, procwatch.Shared(registry)
	options := probedOptions{Probes: true}
	if err := registry.Options(&options); err != nil {
		return err
	}
	if !options.Probes {
		g.missing = errTurnedOff
	}
	g.without = make(map[*procwatch.Process]string)
	g.processes.registry, g.processes.look, g.processes.shut = registry, g.look, g.shut
	g.watcher.Subscribe(g.processes.change)
	g.watcher.Subscribe(func(_, removed []*procwatch.Process) {
		g.processes.mu.Lock()
		defer g.processes.mu.Unlock()
		for _, process := range removed {
			delete(g.without, process)
		}
	})
	registry.Every(ctx, 200*time.Millisecond, g.Finish)
	return nil
}

func (g *probed) Discover(ctx context.Context) {
	g.watcher.Refresh(ctx)
	g.processes.discover()
	g.forgetAfterLoss()
	g.abandonMarking()
	g.proveEmbedded()
	g.processes.mu.Lock()
	defer g.processes.mu.Unlock()
	switch {
	case g.missing != nil && len(g.without) > 0:
		g.registry.Degraded("no probes: "+bpf.Explain(g.missing), probes.Needs)
	case len(g.without) > 0:
		for _, why := range g.without {
			g.registry.Degraded(fmt.Sprintf("processes whose collections are not known: %d (%s)", len(g.without), why), "")
		}
	default:
		g.registry.Degraded("", "")
	}
}

// look finds out whether a process has the runtime, and attaches probes to it. Called with processes.mu held.
func (g *probed) look(watched *procwatch.Process) (*probedProcess, bool) {
	delete(g.without, watched)
	found, err := g.runtime.find(g.registry.Roots.Proc, watched)
	if errors.Is(err, errOther) || errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if !found.embedded {
		describe(g.registry, watched, g.runtime.name, found.version, found.options)
	}
	if found.embedded && errors.Is(err, errNotProbed) {
		return nil, true // nothing will show whether it runs
	}
	if err == nil {
		err = g.open()
	}
	if err != nil {
		g.without[watched] = err.Error()
		return nil, g.missing != nil
	}
	g.numbers = (g.numbers + 1) & 0xffffff
	attachment, err := g.probes.Attach(found.file, watched.PID, g.numbers, found.places)
	if err != nil {
		g.registry.Log.Info("process cannot be probed", "pid", watched.PID, "command", watched.Command, "error", err)
		g.without[watched] = err.Error()
		return nil, true
	}
	p := newProbedProcess(watched, g.numbers, attachment, found.means)
	if g.runtime.lazy {
		p.heap = &lazyHeap{}
	}
	if found.embedded {
		p.unproven = &found
	} else {
		g.prove(p)
	}
	return p, true
}

// prove records what applies to a process in which the runtime runs: series, and facts of its collections.
func (g *probed) prove(p *probedProcess) {
	g.registry.Fact(p.watched.Resource, "runtime.gc_source", g.runtime.gcSource)
	if g.runtime.marks != nil || g.runtime.lazy {
		g.registry.Fact(p.watched.Resource, "runtime.gc_marking", "observed")
	}
	p.series(g.registry)
}

// proveEmbedded describes the programs in which a linked runtime has collected garbage.
func (g *probed) proveEmbedded() {
	if g.probes == nil {
		return
	}
	var started []*probedProcess
	g.registry.Between(func() {
		for _, p := range g.processes.found {
			if p.unproven != nil && p.collected {
				started = append(started, p)
			}
		}
	})
	for _, p := range started {
		describe(g.registry, p.watched, g.runtime.name, p.unproven.version, p.unproven.options)
		g.prove(p)
		g.registry.Between(func() { p.unproven = nil })
	}
}

func (g *probed) open() error {
	if g.probes != nil || g.missing != nil {
		return g.missing
	}
	hits := uint32(probes.FewHits)
	if g.runtime.lazy { // a step of sweeping per 2,000 objects or so
		hits = probes.ManyHits
	}
	opened, err := probes.Open(hits)
	if g.missing = err; err == nil {
		g.registry.Between(func() { g.probes = opened })
	}
	return err
}

func (g *probed) shut(p *probedProcess) {
	if err := p.attachment.Close(); err != nil {
		g.registry.Log.Warn("removing probes failed", "pid", p.watched.PID, "error", err)
	}
}

// forgetAfterLoss drops collections that seem to be running if moments were lost: their end might have been among them.
func (g *probed) forgetAfterLoss() {
	if g.probes == nil {
		return
	}
	lost := g.probes.Lost()
	if lost == g.lost {
		return
	}
	g.lost = lost
	g.registry.Between(func() {
		for _, p := range g.processes.found {
			p.forget()
		}
	})
}

// abandonMarking ends the marking of heaps whose threads have exited, as workers of Node.js do.
func (g *probed) abandonMarking() {
	if g.probes == nil || g.runtime.marks == nil {
		return
	}
	type heap struct {
		process *probedProcess
		thread  uint32
	}
	var gone []heap
	g.registry.Between(func() {
		for _, p := range g.processes.found {
			for _, thread := range p.marking(nil) {
				gone = append(gone, heap{p, thread})
			}
		}
	})
	gone = slices.DeleteFunc(gone, func(h heap) bool { return h.process.has(g.registry.Roots.Proc, h.thread) })
	if len(gone) == 0 {
		return
	}
	g.registry.Between(func() {
		for _, h := range gone {
			h.process.abandon(h.thread)
		}
	})
}

func (g *probed) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	if g.probes == nil {
		return
	}
	g.clock.Set()
	for {
		number, moment, ok := g.probes.Next(&g.clock)
		if !ok {
			break
		}
		at := slices.IndexFunc(g.processes.found, func(p *probedProcess) bool { return p.number == number })
		if at >= 0 {
			g.processes.found[at].take(moment, &g.runtime, &g.finished)
		}
	}
	for _, p := range g.processes.found {
		p.settle(tick.EndUS(), &g.finished)
		p.record(tick, recorder)
	}
}

// Finish implements sampler.Finisher.
func (g *probed) Finish() { finish(&g.finished, g.registry) }

// EachCounter implements sampler.Counters.
func (g *probed) EachCounter(yield func(name string, value float64)) {
	if g.probes != nil {
		yield("lost_moments_total", float64(g.probes.Lost()))
	}
	yield("lost_cycles_total", float64(g.finished.Lost()))
}

func (g *probed) Close() error {
	g.processes.close()
	if g.probes == nil {
		return nil
	}
	return g.probes.Close()
}
