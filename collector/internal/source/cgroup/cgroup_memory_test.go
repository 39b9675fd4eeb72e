package cgroup

import (
	"maps"
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestCgroupMemory(t *testing.T) {
	root := sourcetest.CgroupTree(t, 2, 1)
	sourcetest.Write(t, root, "group000/memory.high", "67108864\n")
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Sources: []sampler.Source{&cgroupMemory{}}})
	r.Ticks(10)
	sourcetest.Write(t, root, "group000/memory.events", "low 0\nhigh 0\nmax 2\noom 1\noom_kill 1\n")
	sourcetest.Write(t, root, "group000/memory.current", "4096\n")
	sourcetest.Write(t, root, "group000/memory.stat", "anon 4\nfile 3\npgmajfault 7\n")
	r.Ticks(10)
	usage := r.Values("/group000", catalogue.MemoryUsageBytes)
	if want := append(slices.Repeat([]float64{9076736}, 10), slices.Repeat([]float64{4096}, 10)...); !slices.Equal(usage, want) {
		t.Errorf("usage %v", usage)
	}
	r.Want("/group000", catalogue.MemoryAnonBytes, 4, 4)
	r.Want("/group000", catalogue.MemoryFileBytes, 3, 3)
	r.Want("/group000", catalogue.MemoryMajorFaults, 2)
	if hits := r.Values("/group000", catalogue.MemoryLimitHits); !slices.Contains(hits, 2) {
		t.Errorf("hits of the limit %v", hits)
	}
	if kills := r.Values("/group000", catalogue.MemoryOOMKills); !slices.Contains(kills, 1) {
		t.Errorf("kills %v", kills)
	}
	if got := r.Triggers("/group000"); !slices.Equal(got, []string{"oom_kill"}) {
		t.Errorf("triggers %v", got)
	}
	// The kernel's log is not read here: the event says only that there was a kill.
	if got := r.Events("/group000", catalogue.EventMemoryOOMKill); len(got) != 1 || !maps.Equal(got[0], map[string]string{"count": "1"}) {
		t.Errorf("events %v", got)
	}
	if got := r.Fact("/group000", catalogue.FactMemoryLimitBytes); got != "-1" {
		t.Errorf("limit %s", got)
	}
	if got := r.Fact("/group000", catalogue.FactMemoryHighBytes); got != "67108864" {
		t.Errorf("memory.high %s", got)
	}
	if got := r.Values("/group000", catalogue.MemoryReclaimScannedPages); len(got) > 0 {
		t.Errorf("reclaim without its source: %v", got)
	}
}

func TestCgroupMemoryOnVersion1(t *testing.T) {
	root := sourcetest.CgroupTree(t, 1, 1)
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Sources: []sampler.Source{&cgroupMemory{}}})
	r.Ticks(1)
	sourcetest.Write(t, root, "memory/group000/memory.failcnt", "3\n")
	sourcetest.Write(t, root, "memory/group000/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
	r.Ticks(10)
	r.Want("/group000", catalogue.MemoryUsageBytes, 9076736)
	r.Want("/group000", catalogue.MemoryLimitHits, 3)
	r.Want("/group000", catalogue.MemoryOOMKills, 1)
	r.Want("/group000", catalogue.MemoryAnonBytes, 4)
	r.Want("/group000", catalogue.MemoryFileBytes, 3)
}

func TestRefaults(t *testing.T) {
	root := sourcetest.CgroupTree(t, 2, 1)
	stat := func(refaults string) {
		sourcetest.Write(t, root, "group000/memory.stat", "anon 4\nfile 3\nworkingset_refault_anon 9\nworkingset_refault_file "+refaults+"\npgmajfault 5\n")
	}
	stat("7")
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Sources: []sampler.Source{&cgroupMemory{}}})
	r.Ticks(10)
	stat("19")
	r.Ticks(10)
	r.Want("/group000", catalogue.MemoryRefaults, 12)
}
