package node

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestMeminfo(t *testing.T) {
	proc := sourcetest.Tree(t, map[string]string{"meminfo": "@../../procfs/testdata/linux-6.18/meminfo"})
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&meminfo{}}})
	r.Ticks(2)
	for metric, want := range map[uint32]float64{
		catalogue.MemoryAvailableBytes: 22098008 << 10, catalogue.MemoryFreeBytes: 16027160 << 10, catalogue.MemoryCachedBytes: (6008636 + 162708) << 10,
		catalogue.SlabReclaimableBytes: 414296 << 10, catalogue.SlabUnreclaimableBytes: 89672 << 10,
	} {
		r.Want(sourcetest.Node, metric, want)
	}
	if got := r.Triggers(sourcetest.Node); len(got) != 0 {
		t.Errorf("nothing happens, and the triggers are %v", got)
	}
}

// TestMemoryRunsOut: 1 GiB less in each of 20 ticks.
func TestMemoryRunsOut(t *testing.T) {
	proc := sourcetest.Tree(t, map[string]string{"meminfo": ""})
	left := func(gib int) string {
		return fmt.Sprintf("MemTotal: 33554432 kB\nMemFree: 1024 kB\nMemAvailable: %d kB\nCached: 1 kB\nSReclaimable: 1 kB\nSUnreclaim: 1 kB\n", gib<<20)
	}
	sourcetest.Write(t, proc, "meminfo", left(20))
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&meminfo{}}})
	for gib := 20; gib > 12; gib-- {
		sourcetest.Write(t, proc, "meminfo", left(gib))
		r.Ticks(1)
	}
	if got := r.Triggers(sourcetest.Node); !slices.Contains(got, "memory_growth") {
		t.Errorf("memory runs out in two seconds, and the triggers are %v", got)
	}
}
