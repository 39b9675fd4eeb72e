package cgroup

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("cgroup_cpu", func() sampler.Source { return &cgroupCPU{} }) }

// cgroupCPU samples CPU use and CFS bandwidth of every cgroup, containers and their parents alike: the bandwidth
// counters of a cgroup include neither those of its children nor those of its ancestors.
type cgroupCPU struct {
	registry *sampler.Registry
	set      sampler.Members[*sampler.Group, cpuGroup]
	zoom     *zoom
	looping  sync.WaitGroup
	epoch    uint64
	buffer   [1024]byte
}

// cpuGroup is the state kept for one cgroup.
type cpuGroup struct {
	*sampler.Group
	stat, usage, split, local procfs.Held // usage and split: v1 only, cpuacct.usage and cpuacct.stat
	slots                     cpuSlots
	limits                    cgroup.CPULimits
	limitsKnown               bool
	constrained               bool // it or an ancestor has a quota; guarded by Between
	triggered                 int64
	throttledUS               atomic.Int64 // start of the last throttled tick, for the zoom: no lock, which could delay others

	// Discovery side: how close it is to its quota.
	usedUS    uint64
	usedAt    time.Time
	closeness float64
	nearUntil time.Time
}

type cpuSlots struct {
	usage, user, system, periods, throttledPeriods, throttled, bursts, burst, local batch.Slot
}

func (c *cgroupCPU) Name() string { return "cgroup_cpu" }

func (c *cgroupCPU) Start(ctx context.Context, registry *sampler.Registry) error {
	if err := needsCgroups(registry, func(l cgroup.Layout) bool { return l.CPU != "" || l.CPUAcct != "" }, "cpu"); err != nil {
		return err
	}
	c.registry = registry
	c.set = sampler.Members[*sampler.Group, cpuGroup]{Registry: registry, Open: c.open, Shut: (*cpuGroup).shut}
	registry.OnCgroups(c.set.Change)
	c.zoom = newZoom(registry)
	c.looping.Go(func() { c.zoom.loop(ctx.Done()) })
	return nil
}

func (c *cgroupCPU) open(group *sampler.Group) *cpuGroup {
	g := &cpuGroup{Group: group, limits: cgroup.CPULimits{QuotaUS: -1, BurstUS: -1}}
	series := func(metric uint32) batch.Slot { return c.registry.Counter(group.Resource, metric, group.Born) }
	if group.CPU != "" {
		g.stat = procfs.HoldIfExists(group.CPU + "/cpu.stat")
		g.local = procfs.HoldIfExists(group.CPU + "/cpu.stat.local")
	}
	if group.Version == 1 && group.CPUAcct != "" {
		g.usage = procfs.HoldIfExists(group.CPUAcct + "/cpuacct.usage")
		g.split = procfs.HoldIfExists(group.CPUAcct + "/cpuacct.stat")
	}
	if !g.stat.Open() && !g.usage.Open() {
		g.shut()
		return nil
	}
	if g.usage.Open() || group.Version == 2 {
		g.slots.usage = series(catalogue.CPUUsageUS)
		g.slots.user, g.slots.system = series(catalogue.CPUUserUS), series(catalogue.CPUSystemUS)
	}
	text, _ := g.stat.Read(make([]byte, len(c.buffer)))
	var stat cgroup.CPUStat
	cgroup.ParseCPUStat(text, &stat)
	if stat.HasBandwidth { // on v2 only if the cpu controller is enabled
		g.slots.periods, g.slots.throttledPeriods = series(catalogue.CPUPeriods), series(catalogue.CPUThrottledPeriods)
		g.slots.throttled = series(catalogue.CPUThrottledUS)
	}
	if stat.HasBurst {
		g.slots.bursts, g.slots.burst = series(catalogue.CPUBursts), series(catalogue.CPUBurstUS)
	}
	if g.local.Open() {
		g.slots.local = series(catalogue.CPUThrottledLocalUS)
	}
	return g
}

func (g *cpuGroup) shut() {
	g.stat.Close()
	g.usage.Close()
	g.split.Close()
	g.local.Close()
}

func (c *cgroupCPU) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	for i, g := range c.set.All {
		recorder.NoticeStandstill()
		if tick.Shed >= sampler.ShedUnlimited && !g.constrained && !tick.Due(i) {
			continue
		}
		c.sampleStat(g, tick, recorder)
		if text, ok := g.usage.Read(c.buffer[:]); ok {
			if ns, ok := cgroup.ParseUint(text); ok {
				recorder.Delta(g.slots.usage, ns/1000)
			}
		}
		if text, ok := g.split.Read(c.buffer[:]); ok {
			if user, system, ok := cgroup.ParseCPUAcctStat(text); ok {
				recorder.Delta(g.slots.user, user)
				recorder.Delta(g.slots.system, system)
			}
		}
		if g.constrained { // without a quota above it the counter never changes
			if text, ok := g.local.Read(c.buffer[:]); ok {
				if us, ok := cgroup.ParseThrottledLocal(text); ok {
					recorder.Delta(g.slots.local, us)
				}
			}
		}
	}
	recorder.NoticeStandstill()
}

func (c *cgroupCPU) sampleStat(g *cpuGroup, tick sampler.Tick, recorder *sampler.Recorder) {
	text, ok := g.stat.Read(c.buffer[:])
	if !ok {
		return
	}
	var stat cgroup.CPUStat
	cgroup.ParseCPUStat(text, &stat)
	if stat.HasUsage {
		recorder.Delta(g.slots.usage, stat.UsageUS)
		recorder.Delta(g.slots.user, stat.UserUS)
		recorder.Delta(g.slots.system, stat.SystemUS)
	}
	if !stat.HasBandwidth {
		return
	}
	recorder.Delta(g.slots.periods, stat.Periods)
	recorder.Delta(g.slots.throttledPeriods, stat.ThrottledPeriods)
	recorder.Delta(g.slots.throttled, stat.ThrottledUS)
	if stat.HasBurst {
		recorder.Delta(g.slots.bursts, stat.Bursts)
		recorder.Delta(g.slots.burst, stat.BurstUS)
	}
	if recorder.Value(g.slots.throttledPeriods) > 0 {
		g.throttledUS.Store(tick.StartUS)
	}
	throttled := recorder.Value(g.slots.throttledPeriods) > 0 || recorder.Value(g.slots.throttled) > 0
	if throttled && tick.StartUS-g.triggered >= sampler.TriggerEveryUS {
		g.triggered = tick.StartUS
		recorder.Trigger(g.Resource, "throttled", tick.StartUS)
	}
}

func (c *cgroupCPU) Close() error {
	c.looping.Wait()
	c.zoom.close()
	c.set.Close()
	return nil
}
