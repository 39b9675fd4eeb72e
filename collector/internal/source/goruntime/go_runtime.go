package goruntime

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/gctrace"
	"github.com/jitterscope/jitterscope/collector/internal/gometrics"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/probes"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("go_runtime", func() sampler.Source { return &goRuntime{} }) }

// goRuntime follows the garbage collector of Go processes: by entry probes on their runtime, or by their metrics page.
type goRuntime struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	pages    *gometrics.Pages
	probes   *probes.Probes // nil if a kernel feature or a privilege is missing
	missing  error          // why
	clock    bpf.Clock

	// Read by Sample, changed only in Registry.Between. The index is the process's number in probe cookies.
	processes [procwatch.Limit]*goProcess
	pending   []pendingMoment
	finished  handover.Ring[finishedCycle]

	mu   sync.Mutex // guards each goProcess's page; Discover and scraping
	live map[*procwatch.Process]*goProcess
	// numbers grows with every process, so that late moments of an ended one are not attributed to its successor.
	numbers uint32
	rounds  int // of discovery
}

// goRuntimeOptions is the table [sources.go_runtime].
type goRuntimeOptions struct {
	Probes bool `toml:"probes"` // false: never attach probes to processes
}

var errTurnedOff = errors.New("turned off by probes = false")

type pendingMoment struct {
	process uint32
	moment  gctrace.Moment
}

const maxPending = 4096 // a busy program stops the world some hundred times/s

// goProcess is one watched Go process.
type goProcess struct {
	watched    *procwatch.Process
	number     uint32
	attachment *probes.Attachment
	tracker    gctrace.Tracker
	fromUS     int64 // nothing is known about earlier ticks
	counted    bool  // since the first tick

	cycles, active, pause, heapLive, heapGoal batch.Slot
	scraper                                   *goScraper
	threads                                   *goThreads // nil unless there is nothing better
	procs                                     *goruntime.GOMAXPROCS
	goroutines                                goGoroutines
}

func (g *goRuntime) Name() string { return "go_runtime" }

func (g *goRuntime) Start(ctx context.Context, registry *sampler.Registry) error {
	g.registry, g.watcher, g.pages = registry, procwatch.Shared(registry), gometrics.SharedPages(registry)
	g.live = make(map[*procwatch.Process]*goProcess)
	g.pending = make([]pendingMoment, 0, maxPending)
	options := goRuntimeOptions{Probes: true}
	if err := registry.Options(&options); err != nil {
		return err
	}
	if g.missing = errTurnedOff; options.Probes {
		g.probes, g.missing = probes.Open(probes.FewHits)
	}
	g.watcher.Subscribe(g.change)
	registry.Every(ctx, 200*time.Millisecond, g.Finish)
	registry.Every(ctx, 250*time.Millisecond, func() { g.scrapeDue(ctx) })
	return nil
}

func (g *goRuntime) Discover(ctx context.Context) {
	g.watcher.Refresh(ctx)
	g.mu.Lock()
	g.rounds++
	for _, p := range g.live {
		g.lastResort(p)
		p.goroutines.search(g.registry, p)
		if g.rounds%10 == 0 {
			g.readGOMAXPROCS(p)
		}
	}
	g.mu.Unlock()
	g.stateOfSource()
}

func (g *goRuntime) change(added, removed []*procwatch.Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var fresh, gone []*goProcess
	for _, watched := range removed {
		if p := g.live[watched]; p != nil {
			gone = append(gone, p)
			delete(g.live, watched)
		}
	}
	for _, watched := range added {
		if watched.Go != nil {
			p := g.open(watched)
			g.live[watched] = p
			fresh = append(fresh, p)
		}
	}
	g.registry.Between(func() {
		for _, p := range gone {
			if index := p.number % procwatch.Limit; g.processes[index] == p {
				g.processes[index] = nil
			}
		}
		for _, p := range fresh {
			g.processes[p.number%procwatch.Limit] = p
		}
	})
	for _, p := range gone {
		p.close(g.registry)
	}
}

// open prepares a process: series, facts, and probes if possible. Called with mu held.
func (g *goRuntime) open(watched *procwatch.Process) *goProcess {
	p := &goProcess{watched: watched, number: g.freeNumber(), scraper: newGoScraper(watched)}
	series := func(metric uint32) batch.Slot { return g.registry.Series(watched.Resource, metric) }
	p.cycles, p.active, p.pause = series(catalogue.GCCycles), series(catalogue.GCActiveUS), series(catalogue.GCPauseUS)
	p.heapLive, p.heapGoal = series(catalogue.HeapLiveBytes), series(catalogue.HeapGoalBytes)
	p.goroutines = newGoGoroutines(g.registry, p)
	describeGo(g.registry, watched)
	if procs, err := goruntime.FindGOMAXPROCS(g.registry.Roots.Proc, watched.PID); err == nil {
		p.procs = &procs
		g.readGOMAXPROCS(p)
	}
	p.tracker.KnowsReasons = watched.Go.AtLeast(1, 21)
	err := g.missing
	if err == nil {
		p.attachment, err = g.attach(p)
	}
	if err != nil {
		if g.missing == nil {
			g.registry.Log.Info("process cannot be probed", "pid", watched.PID, "command", watched.Command, "error", err)
		}
		return p // go.gc_source follows when the metrics page has been found
	}
	p.fromUS = time.Now().UnixMicro()
	p.tracker.Tick(p.fromUS)
	g.registry.Fact(watched.Resource, "go.gc_source", "uprobe")
	return p
}

// freeNumber returns a number whose place in processes is free: the watcher watches no more processes than there are
// places.
func (g *goRuntime) freeNumber() uint32 {
	taken := make(map[uint32]bool, len(g.live))
	for _, p := range g.live {
		taken[p.number%procwatch.Limit] = true
	}
	for {
		g.numbers++
		if !taken[g.numbers%procwatch.Limit] {
			return g.numbers & 0xffffff
		}
	}
}

func (g *goRuntime) attach(p *goProcess) (*probes.Attachment, error) {
	offsets, err := goruntime.LocateInProcess(g.registry.Roots.Proc, p.watched.PID, goruntime.Phases)
	if err != nil {
		return nil, err
	}
	return gctrace.Attach(g.probes, g.registry.Roots.Proc, p.watched.PID, p.number, offsets)
}

func (p *goProcess) close(registry *sampler.Registry) {
	if p.threads != nil {
		p.threads.threads.Close()
	}
	if p.attachment == nil {
		return
	}
	if err := p.attachment.Close(); err != nil {
		registry.Log.Warn("removing probes failed", "pid", p.watched.PID, "error", err)
	}
}

func (g *goRuntime) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	g.clock.Set()
	g.drain()
	// Probes have exact times, so ticks that the sampler missed are filled in.
	for back := min(tick.Missed, batch.Lag); back >= 0; back-- {
		endUS := tick.EndUS() - int64(back)*batch.StepUS
		g.leaveOutEarlier(endUS - batch.StepUS)
		g.addUntil(endUS)
		for _, p := range g.processes {
			if p == nil || p.attachment == nil {
				continue
			}
			cycles, activeUS, pauseUS := p.tracker.Tick(endUS)
			if endUS-batch.StepUS >= p.fromUS {
				recorder.SetAt(back, p.cycles, float64(cycles))
				recorder.SetAt(back, p.active, float64(activeUS))
				recorder.SetAt(back, p.pause, float64(pauseUS))
			}
		}
	}
	for index, p := range g.processes {
		if p == nil {
			continue
		}
		p.recordScraped(recorder)
		p.goroutines.sample(tick, index, p, recorder)
		if p.threads != nil {
			p.threads.sample(tick, recorder, p, &g.finished)
		}
	}
}

// leaveOutEarlier keeps what a process did before its first tick out of that tick: its probes were already attached.
func (g *goRuntime) leaveOutEarlier(startUS int64) {
	g.addUntil(startUS)
	for _, p := range g.processes {
		if p != nil && p.attachment != nil && !p.counted {
			p.tracker.Tick(startUS)
			p.counted = true
		}
	}
}

func (g *goRuntime) drain() {
	if g.probes == nil {
		return
	}
	for len(g.pending) < maxPending {
		process, moment, ok := gctrace.Next(g.probes, &g.clock)
		if !ok {
			return
		}
		g.pending = append(g.pending, pendingMoment{process, moment})
	}
}

// addUntil passes the moments before endUS to the trackers and keeps the others for the next tick.
func (g *goRuntime) addUntil(endUS int64) {
	kept := 0
	for _, pending := range g.pending {
		if pending.moment.TimeUS >= endUS {
			g.pending[kept] = pending
			kept++
			continue
		}
		p := g.processes[pending.process%procwatch.Limit]
		if p == nil || p.number != pending.process {
			continue
		}
		if cycle, ended := p.tracker.Add(pending.moment); ended {
			g.finished.Put(finishedCycle{p.watched.Resource, cycle, "uprobe"})
		}
	}
	g.pending = g.pending[:kept]
}

// EachCounter implements sampler.Counters.
func (g *goRuntime) EachCounter(yield func(name string, value float64)) {
	if g.probes != nil {
		yield("lost_moments_total", float64(g.probes.Lost()))
	}
	yield("lost_cycles_total", float64(g.finished.Lost()))
}

func (g *goRuntime) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.live {
		p.close(g.registry)
	}
	if g.probes == nil {
		return nil
	}
	return errors.Join(g.probes.Close())
}
