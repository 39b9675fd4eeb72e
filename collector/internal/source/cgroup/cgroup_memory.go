package cgroup

import (
	"context"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("cgroup_memory", func() sampler.Source { return &cgroupMemory{} }) }

// cgroupMemory samples usage, limit hits and OOM kills at each tick, and memory.stat, which costs the kernel far more,
// every second, or at each tick while the usage approaches the limit.
type cgroupMemory struct {
	registry *sampler.Registry
	set      sampler.Members[*sampler.Group, memoryGroup]
	reclaim  *reclaimSource
	records  *oomRecords
	gone     goneGroups
	looks    int // reads of growing cgroups in this tick
	epoch    uint64
	buffer   [8192]byte
}

type memoryGroup struct {
	*sampler.Group
	usage, hits, kills, stat            procfs.Held // v2: hits and kills are both in memory.events.local, held as kills
	usageSlot, hitsSlot, killsSlot      batch.Slot
	anonSlot, fileSlot, majorFaultsSlot batch.Slot
	refaultsSlot                        batch.Slot

	below   bool          // kills also counts those in cgroups further down
	reclaim *reclaimGroup // nil if the source cgroup_reclaim is off
	growth  memoryGrowth
	kill    oomPending
	readUS  int64 // end of the last tick in which the usage was read
}

func (m *cgroupMemory) Name() string { return "cgroup_memory" }

func (m *cgroupMemory) Start(_ context.Context, registry *sampler.Registry) error {
	if err := needsCgroups(registry, func(l cgroup.Layout) bool { return l.Memory != "" }, "memory"); err != nil {
		return err
	}
	m.registry, m.reclaim, m.records = registry, sharedReclaim(registry), sharedOOMRecords(registry)
	m.reclaim.memory = true
	m.set = sampler.Members[*sampler.Group, memoryGroup]{Registry: registry, Open: m.open, Shut: m.shut}
	m.gone.ends = registry.Shared("container_ends", func() any { return &names.Ends{} }).(*names.Ends)
	registry.OnCgroups(m.set.Change)
	return nil
}

func (m *cgroupMemory) open(group *sampler.Group) *memoryGroup {
	if group.Memory == "" {
		return nil
	}
	g := &memoryGroup{Group: group}
	if group.Version == 2 {
		g.usage = procfs.HoldIfExists(group.Memory + "/memory.current")
		// memory.events also counts what happened below it: a kill in a container would be one of kubepods.slice as well.
		g.kills = procfs.HoldIfExists(group.Memory + "/memory.events.local")
		if !g.kills.Open() { // before Linux 5.2
			g.below, g.kills = true, procfs.HoldIfExists(group.Memory+"/memory.events")
		}
	} else {
		g.usage = procfs.HoldIfExists(group.Memory + "/memory.usage_in_bytes")
		g.hits = procfs.HoldIfExists(group.Memory + "/memory.failcnt")
		g.kills = procfs.HoldIfExists(group.Memory + "/memory.oom_control")
	}
	g.stat = procfs.HoldIfExists(group.Memory + "/memory.stat")
	if !g.usage.Open() {
		g.shut() // v2: the memory controller is not enabled here
		return nil
	}
	series := func(metric uint32) batch.Slot { return m.registry.Series(group.Resource, metric) }
	counter := func(metric uint32) batch.Slot { return m.registry.Counter(group.Resource, metric, group.Born) }
	g.usageSlot, g.hitsSlot = series(catalogue.MemoryUsageBytes), counter(catalogue.MemoryLimitHits)
	g.killsSlot, g.majorFaultsSlot = counter(catalogue.MemoryOOMKills), counter(catalogue.MemoryMajorFaults)
	g.refaultsSlot = counter(catalogue.MemoryRefaults)
	g.anonSlot, g.fileSlot = series(catalogue.MemoryAnonBytes), series(catalogue.MemoryFileBytes)
	g.reclaim = m.reclaim.open(m.registry, group)
	return g
}

func (g *memoryGroup) shut() {
	g.usage.Close()
	g.hits.Close()
	g.kills.Close()
	g.stat.Close()
	g.reclaim.shut()
}

// shut releases a cgroup that was removed. The kill that ended it might not have been counted.
func (m *cgroupMemory) shut(g *memoryGroup) {
	m.gone.add(g, nowUS())
	g.shut()
	m.records.want()
}

func (m *cgroupMemory) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	m.looks = 0
	for i, g := range m.set.All {
		m.tellKills(g, tick)
		slow := tick.Due(i)
		if slow {
			m.sampleStat(g, tick, recorder)
		} else if tick.Shed >= sampler.ShedSlowGauges {
			continue
		}
		if text, ok := g.usage.Read(m.buffer[:]); ok {
			if bytes, ok := cgroup.ParseUint(text); ok {
				recorder.Set(g.usageSlot, float64(bytes))
				g.readUS = tick.EndUS()
				m.watchGrowth(g, tick, recorder, float64(bytes))
			}
		}
		if text, ok := g.hits.Read(m.buffer[:]); ok {
			if hits, ok := cgroup.ParseUint(text); ok {
				recorder.Delta(g.hitsSlot, hits)
			}
		}
		m.sampleEvents(g, tick, recorder)
	}
}

func (m *cgroupMemory) sampleEvents(g *memoryGroup, tick sampler.Tick, recorder *sampler.Recorder) {
	text, ok := g.kills.Read(m.buffer[:])
	if !ok {
		return
	}
	if g.Version == 2 {
		if hits, ok := cgroup.ParseField(text, "max"); ok {
			recorder.Delta(g.hitsSlot, hits)
		}
		g.reclaim.sampleEvents(text, recorder)
	}
	if kills, ok := cgroup.ParseField(text, "oom_kill"); ok {
		recorder.Delta(g.killsSlot, kills)
		if killed := recorder.Value(g.killsSlot); killed > 0 {
			recorder.Trigger(g.Resource, "oom_kill", tick.StartUS)
			g.kill.add(int64(killed), tick)
			m.tellKills(g, tick)
		}
	}
}

func (m *cgroupMemory) sampleStat(g *memoryGroup, tick sampler.Tick, recorder *sampler.Recorder) {
	g.reclaim.sampleSlow(m.buffer[:], recorder)
	text, ok := g.stat.Read(m.buffer[:])
	if !ok {
		return
	}
	if stat, ok := cgroup.ParseMemoryStat(text); ok {
		recorder.Set(g.anonSlot, float64(stat.AnonBytes))
		recorder.Set(g.fileSlot, float64(stat.FileBytes))
		recorder.Delta(g.majorFaultsSlot, stat.MajorFaults)
		if stat.HasRefaults {
			recorder.Delta(g.refaultsSlot, stat.Refaults)
		}
		g.reclaim.sampleStat(&stat, recorder)
		g.growth.cache.Add(tick.EndUS(), float64(stat.CacheBytes))
	}
}

// Discover records the memory limits as facts, and reports kills in cgroups that were removed with them.
func (m *cgroupMemory) Discover(context.Context) {
	m.tellGone(nowUS())
	epoch := m.registry.CgroupEpoch()
	if epoch == m.epoch {
		return
	}
	m.epoch = epoch
	for _, g := range m.set.List() {
		if limit, err := cgroup.ReadMemoryLimit(g.Location); err == nil {
			m.registry.Fact(g.Resource, catalogue.FactMemoryLimitBytes, strconv.FormatInt(limit, 10))
			g.growth.limit.Store(limit)
		}
		if high, err := cgroup.ReadMemoryHigh(g.Location); err == nil {
			m.registry.Fact(g.Resource, catalogue.FactMemoryHighBytes, strconv.FormatInt(high, 10))
		}
	}
}

func (m *cgroupMemory) Close() error {
	m.set.Close()
	return nil
}
