package cgroup

import (
	"context"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("cgroup_reclaim", func() sampler.Source { return &cgroupReclaim{} }, "cgroup_memory")
}

// cgroupReclaim makes cgroup_memory record slab and reclaim as well: they are in files that it reads anyway, and
// reading memory.stat twice would cost the kernel twice.
type cgroupReclaim struct{}

// reclaimSource is the state that the two sources share.
type reclaimSource struct {
	memory bool // cgroup_memory works
	on     bool
}

func sharedReclaim(registry *sampler.Registry) *reclaimSource {
	return registry.Shared("cgroup_reclaim", func() any { return &reclaimSource{} }).(*reclaimSource)
}

func (c *cgroupReclaim) Name() string { return "cgroup_reclaim" }

// Start runs after that of cgroup_memory and before the cgroups are reported.
func (c *cgroupReclaim) Start(_ context.Context, registry *sampler.Registry) error {
	if err := needsCgroups(registry, func(l cgroup.Layout) bool { return l.Memory != "" }, "memory"); err != nil {
		return err
	}
	shared := sharedReclaim(registry)
	if !shared.memory {
		return &sampler.Unavailable{Detail: "the source cgroup_memory, which reads the files, is not running", Needs: "the source cgroup_memory"}
	}
	shared.on = true
	return nil
}

func (c *cgroupReclaim) Sample(sampler.Tick, *sampler.Recorder) {}

func (c *cgroupReclaim) Close() error { return nil }

// reclaimGroup is one cgroup. A nil one records nothing.
type reclaimGroup struct {
	kernel                          procfs.Held // v1: kernel memory, most of it slab
	slabSlot, scannedSlot, highSlot batch.Slot
}

func (r *reclaimSource) open(registry *sampler.Registry, group *sampler.Group) *reclaimGroup {
	if !r.on {
		return nil
	}
	g := &reclaimGroup{scannedSlot: batch.NoSlot, highSlot: batch.NoSlot}
	if group.Version == 2 {
		g.scannedSlot = registry.Counter(group.Resource, catalogue.MemoryReclaimScannedPages, group.Born)
		g.highSlot = registry.Counter(group.Resource, catalogue.MemoryHighEvents, group.Born)
	} else if g.kernel = procfs.HoldIfExists(group.Memory + "/memory.kmem.usage_in_bytes"); !g.kernel.Open() {
		return nil // v1 neither reports scanned pages nor has memory.high
	}
	g.slabSlot = registry.Series(group.Resource, catalogue.MemorySlabBytes)
	return g
}

func (g *reclaimGroup) sampleSlow(buffer []byte, recorder *sampler.Recorder) {
	if g == nil || !g.kernel.Open() {
		return
	}
	if text, ok := g.kernel.Read(buffer); ok {
		if bytes, ok := cgroup.ParseUint(text); ok {
			recorder.Set(g.slabSlot, float64(bytes))
		}
	}
}

func (g *reclaimGroup) sampleStat(stat *cgroup.MemoryStat, recorder *sampler.Recorder) {
	if g == nil {
		return
	}
	if stat.HasSlab {
		recorder.Set(g.slabSlot, float64(stat.SlabBytes))
	}
	if stat.HasScanned {
		recorder.Delta(g.scannedSlot, stat.ScannedPages)
	}
}

// sampleEvents reads memory.events of v2.
func (g *reclaimGroup) sampleEvents(text []byte, recorder *sampler.Recorder) {
	if g == nil {
		return
	}
	if high, ok := cgroup.ParseField(text, "high"); ok {
		recorder.Delta(g.highSlot, high)
	}
}

func (g *reclaimGroup) shut() {
	if g != nil {
		g.kernel.Close()
	}
}
