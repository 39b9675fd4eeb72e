package kernel

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/lookups"
	"github.com/jitterscope/jitterscope/collector/internal/nss"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("failed_lookups", func() sampler.Source { return &failedLookups{} }, "dentry_state")
}

// failedLookups reports which processes look up names that do not exist, while the number of negative dentries grows.
type failedLookups struct {
	registry *sampler.Registry
	tracer   *lookups.Tracer
	cgroups  *cgroupInodes
	dentries procfs.Held
	shared   *dentrySample
	glimpsed atomic.Int64 // the most seen within the tick so far
	growth   lookups.Growth
	wanted   atomic.Bool // by growth, for Discover
	nss      *nss.Watcher
	settings *nssEnvironments
	cancel   context.CancelFunc
	running  sync.WaitGroup
	buffer   [128]byte

	// Changed only in Registry.Between, except for what Sample counts.
	tracing  bool
	sampled  bool   // a tick of this phase was sampled: the first one is incomplete
	failures uint64 // so far, all phases
	total    uint64 // in this span
	table    *lookups.Table
	node     batch.Slot
	groups   [tracedGroups]tracedGroup
	take     func(cgroup uint64, failures float64)
	why      lookups.Why

	// Used by Discover.
	taken       *lookups.Table
	phaseUS     int64 // start of this phase
	spanUS      int64 // start of the period of the next report
	reported    bool
	triggeredUS int64 // for a diagnosis
	lost        atomic.Uint64
}

// tracedGroup is a cgroup whose processes had failing lookups in this phase.
type tracedGroup struct {
	inode uint64 // 0: free
	fresh float64
	slot  batch.Slot
	known bool // it has a slot
	gone  bool
}

const (
	tracedGroups  = 16
	firstReportUS = 1_000_000
	reportEveryUS = 5_000_000
	reportLeast   = 100 // lookups that the first report waits for
)

func (f *failedLookups) Name() string { return "failed_lookups" }

func (f *failedLookups) Start(ctx context.Context, registry *sampler.Registry) error {
	f.registry = registry
	var err error
	if f.dentries, err = procfs.Hold(filepath.Join(registry.Roots.Proc, "sys/fs/dentry-state")); err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable /proc/sys/fs/dentry-state"}
	}
	if f.tracer, err = lookups.Open(unified(registry)); err != nil {
		f.dentries.Close()
		return &sampler.Unavailable{Detail: bpf.Explain(err), Needs: lookups.Needs}
	}
	f.table, f.taken = lookups.NewTable(), lookups.NewTable()
	f.take = f.countGroup
	f.node = registry.Series(batch.Node, catalogue.LookupFailures)
	f.cgroups, f.shared = sharedCgroupInodes(registry), sharedDentrySample(registry)
	registry.OnCgroups(f.forget)
	f.nss = nss.NewWatcher(registry.Roots.Proc)
	f.settings = newNSSEnvironments(registry.Roots.Proc, func(group *sampler.Group, value string) {
		registry.Fact(group.Resource, catalogue.FactNssSdbUseCache, value)
	})
	registry.OnCgroups(f.settings.change)
	ctx, f.cancel = context.WithCancel(ctx)
	f.running.Go(func() { f.nss.Run(ctx) })
	f.running.Go(func() { f.glimpses(ctx, filepath.Join(registry.Roots.Proc, "sys/fs/dentry-state")) })
	return nil
}

func (f *failedLookups) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	if negative, ok := f.negative(tick); ok {
		f.wanted.Store(f.growth.Add(tick.EndUS(), float64(max(negative, f.glimpsed.Swap(0)))))
	}
	if !f.tracing {
		return
	}
	failures := f.drain()
	f.growth.Saw(failures)
	if !f.sampled || tick.Missed > 0 {
		f.sampled = true
		for i := range f.groups {
			f.groups[i].fresh = 0
		}
		return
	}
	recorder.Set(f.node, float64(failures))
	for i := range f.groups {
		if group := &f.groups[i]; group.inode != 0 {
			if group.known {
				recorder.Set(group.slot, group.fresh)
			}
			group.fresh = 0
		}
	}
}

// negative is how many negative dentries there are. The kernel visits every CPU for that: dentry_state, which runs
// before, has already read it if it is enabled.
func (f *failedLookups) negative(tick sampler.Tick) (int64, bool) {
	if negative, ok := f.shared.get(tick); ok {
		return negative, true
	}
	return negativeIn(f.dentries, f.buffer[:])
}

// drain counts the samples since the last call and returns how many lookups failed.
func (f *failedLookups) drain() uint64 {
	var lookup lookups.Lookup
	for f.tracer.Next(&lookup) {
		f.table.Add(&lookup)
		f.nss.See(lookup.PID, lookup.Command, lookup.Path)
	}
	so, lost := f.tracer.Tick()
	f.lost.Store(lost)
	failures := so - f.failures
	f.failures = so
	f.total += failures
	f.table.EndTick(failures, f.take)
	return failures
}

func (f *failedLookups) countGroup(inode uint64, failures float64) {
	if inode == 0 {
		return
	}
	for i := range f.groups {
		group := &f.groups[i]
		if group.inode == 0 {
			*group = tracedGroup{inode: inode}
		}
		if group.inode == inode {
			group.fresh += failures
			return
		}
	}
}

// forget drops the series of removed cgroups.
func (f *failedLookups) forget(_, removed []*sampler.Group) {
	if len(removed) == 0 {
		return
	}
	f.registry.Between(func() {
		for _, gone := range removed {
			for i := range f.groups {
				if f.groups[i].inode == gone.Inode() {
					f.groups[i].known, f.groups[i].gone = false, true
				}
			}
		}
	})
}

// Discover turns tracing on and off and reports the results.
func (f *failedLookups) Discover(context.Context) {
	f.settings.look(time.Now(), f.nss.Seen())
	wanted, now := f.wanted.Load(), time.Now().UnixMicro()
	switch {
	case wanted && !f.tracing:
		f.begin(now)
	case !wanted && f.tracing:
		f.end()
	case f.tracing:
		f.findGroups()
		if now-f.spanUS >= reportEveryUS || !f.reported && now-f.spanUS >= firstReportUS {
			f.report(now, false)
		}
	}
}

func (f *failedLookups) begin(now int64) {
	if err := f.tracer.Attach(); err != nil {
		f.registry.Degraded("failing lookups cannot be traced: "+bpf.Explain(err), lookups.Needs)
		return
	}
	f.registry.Degraded("", "")
	f.phaseUS, f.spanUS, f.reported = now, now, false
	f.registry.Between(func() {
		f.why = f.growth.Why()
		f.table.Take(f.taken)
		f.nss.Begin()
		f.groups = [tracedGroups]tracedGroup{}
		f.tracing, f.sampled, f.total = true, false, 0
	})
}

func (f *failedLookups) end() {
	err := f.tracer.Detach()
	f.registry.Between(func() {
		f.drain()
		f.tracing = false
	})
	now := time.Now().UnixMicro()
	f.report(now, true)
	f.registry.Event(batch.Node, catalogue.EventFsTracing, f.phaseUS, now-f.phaseUS, map[string]string{
		"why": "negative dentries grew by " + strconv.FormatFloat(f.why.Grew, 'f', 0, 64) + " within " +
			strconv.FormatInt(f.why.WithinUS/1_000_000, 10) + " s",
	})
	if err != nil {
		f.registry.Degraded("tracing of failing lookups could not be stopped: "+err.Error(), "")
	}
}

// findGroups assigns series to the cgroups that were seen.
func (f *failedLookups) findGroups() {
	for i := range f.groups {
		group := &f.groups[i]
		var inode uint64
		f.registry.Between(func() {
			if !group.known && !group.gone {
				inode = group.inode
			}
		})
		if inode == 0 {
			continue
		}
		if found := f.cgroups.find(inode); found != nil {
			slot := f.registry.Series(found.Resource, catalogue.LookupFailures)
			f.registry.Between(func() { group.slot, group.known = slot, true })
		}
	}
}

// EachCounter implements sampler.Counters.
func (f *failedLookups) EachCounter(yield func(name string, value float64)) {
	yield("lost_samples_total", float64(f.lost.Load()))
}

func (f *failedLookups) Close() error {
	f.cancel()
	f.running.Wait()
	f.dentries.Close()
	return f.tracer.Close()
}
