package sampler

import (
	"log/slog"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/names"
)

// Roots are where the kernel's file systems are mounted; tests inject their own.
type Roots struct {
	Cgroup string // /sys/fs/cgroup
	Proc   string // /proc
	Sys    string // /sys
}

// Registry is what a source uses outside Sample. All methods can be called by any goroutine. A source's registry knows
// the source: its log lines, options and status carry the source's name.
type Registry struct {
	Roots Roots
	Log   *slog.Logger

	source string
	engine *Engine
}

// Options decodes the [sources.NAME] table of the configuration file into target; without a table, target keeps its
// values.
func (r *Registry) Options(target any) error {
	if r.engine.options == nil {
		return nil
	}
	return r.engine.options(r.source, target)
}

// Shared returns what construct returned when it was first called under this name: state that several sources of this
// engine share. Only the first caller's registry can be kept in that state.
func (r *Registry) Shared(name string, construct func() any) any {
	r.engine.sharing.Lock()
	defer r.engine.sharing.Unlock()
	if existing, ok := r.engine.shared[name]; ok {
		return existing
	}
	made := construct()
	r.engine.shared[name] = made
	return made
}

// Resource returns the resource with kind and key, creating it if it is new; see ingest.proto for the keys.
func (r *Registry) Resource(kind ingestpb.ResourceKind, key string, parent batch.ResourceID) batch.ResourceID {
	return r.engine.store.Resource(kind, key, parent)
}

// Remove releases a resource with its series and facts. What was already recorded is still sent. Its slots must not be
// used afterwards: first remove them from what Sample reads (Between).
func (r *Registry) Remove(resource batch.ResourceID) {
	r.engine.facts.forget(resource)
	r.engine.store.Remove(resource)
}

// Series returns the slot of a series, creating it if it is new. metric is an id of package catalogue.
func (r *Registry) Series(resource batch.ResourceID, metric uint32) batch.Slot {
	return r.engine.store.Series(resource, metric)
}

// Counter is Series for a counter that is written with Recorder.Delta. For a resource created while the collector ran,
// the first reading counts in full, because the counter began at 0; otherwise it only sets the start.
func (r *Registry) Counter(resource batch.ResourceID, metric uint32, born bool) batch.Slot {
	slot := r.engine.store.Series(resource, metric)
	if born {
		r.engine.store.BeginAtZero(slot)
	}
	return slot
}

// Between runs change while no tick is being sampled. Keep it short: the next tick waits for it. Open files beforehand.
func (r *Registry) Between(change func()) { r.engine.between(change) }

// Fact records a fact if it is new or changed. An empty value withdraws nothing: it is a value like any other.
func (r *Registry) Fact(resource batch.ResourceID, name, value string) {
	r.engine.facts.set(resource, name, value, time.Now())
}

// Event records an event; durationUS is 0 for a point in time.
func (r *Registry) Event(resource batch.ResourceID, kind string, startUS, durationUS int64, attributes map[string]string) {
	r.engine.store.AppendEvent(resource, &ingestpb.Event{
		Kind: kind, StartUs: startUS, DurationUs: uint64(max(durationUS, 0)), Attributes: attributes,
	})
}

// Queries records single DNS queries of a server; block.Server is filled in.
func (r *Registry) Queries(server batch.ResourceID, block *ingestpb.QueryBlock) {
	r.engine.store.AppendQueries(server, block)
}

// Block records a ready-made block of series of one resource, for steps other than the grid's. block.Resource is
// filled in; it needs start, step, tick count, encoding, metrics and values.
func (r *Registry) Block(resource batch.ResourceID, block *ingestpb.SeriesBlock) {
	r.engine.store.AppendBlock(resource, block)
}

// Trigger requests a diagnosis of resource now and seals the batch early.
func (r *Registry) Trigger(resource batch.ResourceID, reason string, atUS int64) {
	r.engine.store.AppendTrigger(resource, reason, atUS)
}

// OnTrigger registers heard to be called with each trigger of any source from now on. It can run on the sampling
// thread: it must not block, allocate, or call the registry.
func (r *Registry) OnTrigger(heard func(resource batch.ResourceID, reason string, atUS int64)) {
	r.engine.store.OnTrigger(heard)
}

// Capture records what the flight recorder kept around a trigger for resource; false if there was no room.
func (r *Registry) Capture(resource batch.ResourceID, capture *ingestpb.Capture) bool {
	return r.engine.store.AppendCapture(resource, capture)
}

// Degraded reports that the source uses a fallback, or covers only part of what it watches. Empty detail: fully active
// again.
func (r *Registry) Degraded(detail, needs string) {
	state := ingestpb.SourceState_SOURCE_STATE_DEGRADED
	if detail == "" {
		state = ingestpb.SourceState_SOURCE_STATE_ACTIVE
	}
	r.engine.status.set(r.source, state, detail, needs)
}

// Cgroup returns the watched cgroup with this path below the hierarchy root.
func (r *Registry) Cgroup(path string) (*Group, bool) { return r.engine.groups.get(path) }

// IsSandbox reports whether the cgroup with this path is that of a pod's sandbox, which is not watched.
func (r *Registry) IsSandbox(path string) bool { return r.engine.groups.leftOut.is(path) }

// AskOfContainers registers kind, which is asked for the purpose of a pod's container if its process does not tell. It
// must not block or call the registry.
func (r *Registry) AskOfContainers(kind func(containerID string) names.Kind) {
	r.engine.groups.leftOut.ask(kind)
}

// MayBeSandboxes counts the watched cgroups that might be sandboxes.
func (r *Registry) MayBeSandboxes() int { return r.engine.groups.leftOut.unknown() }

// OnCgroups registers change to be called with the cgroups that appeared and vanished since the last call: first with
// all that exist, then within about a second of each change. It runs on the discovery goroutine, before Discover. The
// resources of vanished groups are released after all sources were notified.
func (r *Registry) OnCgroups(change func(added, removed []*Group)) {
	r.engine.groups.subscribe(change)
}

// CgroupEpoch grows whenever the cgroup tree or a limit in it might have changed: read the limits again then.
func (r *Registry) CgroupEpoch() uint64 { return r.engine.groups.epoch.Load() }

// CgroupMoves grows whenever a process might have been moved to another cgroup, if the kernel reports it: check again
// then.
func (r *Registry) CgroupMoves() uint64 {
	if r.engine.watcher == nil {
		return 0
	}
	return r.engine.watcher.Moves()
}

// RaisePriority is priority.Raise as far as the configuration permits.
func (r *Registry) RaisePriority() { r.engine.raisePriority() }

// IsOrdinary reports that no thread may have real-time priority.
func (r *Registry) IsOrdinary() bool { return r.engine.config.OrdinaryPriority }

// Shed is how much resolution to give up to stay in budget, as in Tick.Shed.
func (r *Registry) Shed() int { return r.engine.budget.level() }
