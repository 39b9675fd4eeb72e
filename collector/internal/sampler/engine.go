package sampler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
)

// Config is what an Engine needs.
type Config struct {
	Roots      Roots
	Store      *batch.Store
	Sources    []Source
	Options    func(source string, target any) error // can be nil
	MaxCgroups int
	Budget     Budget
	// OrdinaryPriority keeps the sampling threads from taking real-time priority.
	OrdinaryPriority bool
	Log              *slog.Logger
	// Sealed takes each finished batch; it must not block.
	Sealed func(*batch.Sealed)
}

// Engine runs the sources.
type Engine struct {
	config  Config
	store   *batch.Store
	log     *slog.Logger
	options func(string, any) error
	facts   *facts
	status  *status
	groups  *groups
	watcher *cgroup.Watcher // nil if inotify does not work or there is no cgroup file system
	budget  *budget

	sampling priority.Mutex // held while a tick is sampled
	running  []*running

	background sync.WaitGroup // functions started by Registry.Every

	sharing sync.Mutex
	shared  map[string]any // Registry.Shared

	stats Stats
}

// running is a source that Start accepted.
type running struct {
	Source
	registry *Registry
	failed   bool // Sample panicked: it is not called again
	lost     bool // Discover panicked; used only by the discovery goroutine
}

// Stats are the engine's own counters; read them with atomic loads.
type Stats struct {
	Ticks, MissedTicks, LateTicks atomic.Uint64 // late: more than 10 ms after the deadline
	LatenessMaxUS, LastTickUS     atomic.Int64
	SampleUS                      atomic.Uint64 // time spent in sources
	Cgroups, Shed                 atomic.Int64
}

// New makes an Engine.
func New(config Config) *Engine {
	e := &Engine{
		config: config, store: config.Store, log: config.Log, options: config.Options, shared: make(map[string]any),
	}
	if config.OrdinaryPriority {
		e.sampling.Ordinary = true
		e.store.StayOrdinary()
	}
	e.facts, e.status = newFacts(e.store), newStatus(e.store)
	e.budget = newBudget(config.Budget)
	e.groups = newGroups(e.store, config.Roots.Proc, func(id batch.ResourceID) {
		e.facts.forget(id)
		e.store.Remove(id)
	})
	return e
}

// Stats returns the counters.
func (e *Engine) Stats() *Stats { return &e.stats }

// ShedLevel is the level chosen by the budget.
func (e *Engine) ShedLevel() int { return e.budget.level() }

// Status returns the state of every source, sorted by name.
func (e *Engine) Status() []*ingestpb.SourceStatus { return e.status.list() }

// Report reports trouble outside the sources, or its end, as if it were a source: it is sent and shown with them.
func (e *Engine) Report(name, trouble, needs string) {
	if trouble == "" {
		e.status.recovered(name)
		return
	}
	e.status.set(name, ingestpb.SourceState_SOURCE_STATE_DEGRADED, trouble, needs)
}

// SwitchedOff reports that a source is left out because the organization switched it off. Unlike one that the
// configuration leaves out it is shown: a person who misses its figures did not turn it off here.
func (e *Engine) SwitchedOff(name string) {
	e.status.set(name, ingestpb.SourceState_SOURCE_STATE_UNAVAILABLE, "switched off by the organization", "")
}

// Off returns the sources that have nothing to do, and why.
func (e *Engine) Off() map[string]string { return e.status.listOff() }

// ResendFacts sends all known facts again; call it after batches were lost.
func (e *Engine) ResendFacts() { e.facts.resend() }

// EachCounter visits the counters of the sources.
func (e *Engine) EachCounter(yield func(source, name string, value float64)) {
	var all []*running
	e.between(func() { all = e.running })
	for _, r := range all {
		if counters, ok := r.Source.(Counters); ok {
			counters.EachCounter(func(name string, value float64) { yield(r.Name(), name, value) })
		}
	}
}

// Run samples until ctx ends, then closes the sources. It returns early only if nothing can be sampled at all.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.Prepare(ctx); err != nil {
		return err
	}
	var wait sync.WaitGroup
	wait.Go(func() { e.discoverLoop(ctx) })
	wait.Go(func() { e.loop(ctx) })
	wait.Wait()
	e.background.Wait()
	e.closeSources()
	if sealed, err := e.store.Rotate(e.nextTick()); err == nil {
		e.config.Sealed(sealed)
	}
	return nil
}

// Prepare starts the sources and runs their first discovery. Run calls it.
func (e *Engine) Prepare(ctx context.Context) error {
	e.openGroups()
	e.startSources(ctx)
	if len(e.running) == 0 {
		return errors.New("no source works here, see the warnings above")
	}
	e.refreshGroups(ctx)
	e.discover(ctx)
	return nil
}

// Ticker returns a function that samples one tick after another without waiting, for measurements.
func (e *Engine) Ticker() func() {
	state := &loopState{}
	recorder := newRecorder(e.store)
	number := nowUS()/batch.StepUS - 1
	return func() {
		number++
		e.tick(state, number, (number+1)*batch.StepUS, 0, recorder)
	}
}

func (e *Engine) closeSources() {
	for _, r := range e.running {
		if finisher, ok := r.Source.(Finisher); ok {
			finisher.Finish()
		}
		if err := r.Close(); err != nil {
			e.log.Warn("closing a source failed", "source", r.Name(), "error", err)
		}
	}
}

func (e *Engine) startSources(ctx context.Context) {
	var started []*running
	for _, source := range e.config.Sources {
		name := source.Name()
		registry := &Registry{Roots: e.config.Roots, Log: e.log.With("source", name), source: name, engine: e}
		err := source.Start(ctx, registry)
		var unavailable *Unavailable
		var off *Off
		switch {
		case err == nil:
			started = append(started, &running{Source: source, registry: registry})
			e.status.activate(name)
		case errors.As(err, &off):
			e.log.Debug("source is off", "source", name, "detail", off.Detail)
			e.status.turnOff(name, off.Detail)
		case errors.As(err, &unavailable):
			e.log.Warn("source is not available here", "source", name, "detail", unavailable.Detail, "needs", unavailable.Needs)
			e.status.set(name, ingestpb.SourceState_SOURCE_STATE_UNAVAILABLE, unavailable.Detail, unavailable.Needs)
		default:
			e.log.Error("source failed to start", "source", name, "error", err)
			e.status.set(name, ingestpb.SourceState_SOURCE_STATE_UNAVAILABLE, err.Error(), "")
		}
	}
	e.sampling.Lock()
	e.running = started
	e.sampling.Unlock()
}

const (
	quietUS      = 5_000 // how long before a tick nothing is started that it would have to wait for
	afterQuietUS = 2_000 // by then most ticks have been sampled
)

// between runs change while no tick is sampled, and not right before one: a thread that finds a lock taken wakes up
// late on a busy node.
func (e *Engine) between(change func()) {
	time.Sleep(pastTick(nowUS()))
	e.sampling.Lock()
	defer e.sampling.Unlock()
	change()
}

// pastTick is how long to wait at nowUS: not at all, or until an imminent tick has been sampled.
func pastTick(nowUS int64) time.Duration {
	if left := batch.StepUS - nowUS%batch.StepUS; left < quietUS {
		return time.Duration(left+afterQuietUS) * time.Microsecond
	}
	return 0
}

// sample runs one source; a panic costs that source and not the collector.
func (e *Engine) sample(r *running, tick Tick, recorder *Recorder) {
	defer func() {
		if cause := recover(); cause != nil {
			r.failed = true
			go e.failed(r, cause)
		}
	}()
	r.Sample(tick, recorder)
}

func (e *Engine) failed(r *running, cause any) {
	e.log.Error("source stopped: it panicked", "source", r.Name(), "panic", fmt.Sprint(cause))
	e.status.set(r.Name(), ingestpb.SourceState_SOURCE_STATE_UNAVAILABLE, fmt.Sprintf("stopped after an internal error: %v", cause),
		"a restart of the collector; please report it")
}

func (e *Engine) nextTick() int64 { return time.Now().UnixMicro()/batch.StepUS + 1 }

// NodeFacts records facts of the node.
func (e *Engine) NodeFacts(facts map[string]string) {
	for name, value := range facts {
		e.facts.set(batch.Node, name, value, time.Now())
	}
}

// Event records an event that happens now.
func (e *Engine) Event(resource batch.ResourceID, kind string, attributes map[string]string) {
	e.store.AppendEvent(resource, &ingestpb.Event{Kind: kind, StartUs: nowUS(), Attributes: attributes})
}
