package cgroup

import (
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestCgroupReclaim(t *testing.T) {
	root := sourcetest.CgroupTree(t, 2, 1)
	sourcetest.Write(t, root, "group000/memory.stat", "anon 4\nfile 3\nslab 100\npgscan 10\npgmajfault 5\n")
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Sources: []sampler.Source{&cgroupMemory{}, &cgroupReclaim{}}})
	r.Ticks(10)
	sourcetest.Write(t, root, "group000/memory.stat", "anon 4\nfile 3\nslab 200\npgscan 17\npgmajfault 5\n")
	sourcetest.Write(t, root, "group000/memory.events", "low 0\nhigh 6\nmax 0\noom 0\noom_kill 0\n")
	r.Ticks(10)
	r.Want("/group000", catalogue.MemorySlabBytes, 100, 200)
	r.Want("/group000", catalogue.MemoryReclaimScannedPages, 7)
	total := 0.0
	for _, value := range r.Values("/group000", catalogue.MemoryHighEvents) {
		total += value
	}
	if total != 6 {
		t.Errorf("%v events of memory.high", total)
	}
}

func TestCgroupReclaimOnVersion1(t *testing.T) {
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: sourcetest.CgroupTree(t, 1, 1), Sources: []sampler.Source{&cgroupMemory{}, &cgroupReclaim{}}})
	r.Ticks(10)
	r.Want("/group000", catalogue.MemorySlabBytes, 4096)
}

// TestReclaimNeedsMemory: without cgroup_memory nothing reads the files.
func TestReclaimNeedsMemory(t *testing.T) {
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: sourcetest.CgroupTree(t, 2, 1), Sources: []sampler.Source{&cgroupReclaim{}}})
	if got := r.Status("cgroup_reclaim"); !strings.HasPrefix(got, "UNAVAILABLE: ") {
		t.Errorf("alone it is %q", got)
	}
}
