package cgroup

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/oomlog"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestOOMRecord has a kill in a watched cgroup, one in another, and a process that drops caches. Tests of
// internal/oomlog and internal/livetest show that the kernel's own log is understood.
func TestOOMRecord(t *testing.T) {
	device := filepath.Join(sourcetest.Tree(t, map[string]string{"kmsg": ""}), "kmsg")
	root := sourcetest.CgroupTree(t, 2, 1)
	o := &oomRecord{}
	r := sourcetest.Start(t, sourcetest.Setup{
		Cgroup: root, Options: "device = '" + device + "'", Sources: []sampler.Source{&cgroupMemory{}, o},
	})
	if got := r.Status("oom_record"); got != "ACTIVE" {
		t.Fatal(got)
	}
	r.Ticks(1)
	o.found(oomlog.Kill{PID: 7, Command: "grow", Cgroup: "/group000", Constraint: "memcg", AnonBytes: 4096, FileBytes: -1, ShmemBytes: -1})
	o.found(oomlog.Kill{PID: 8, Command: "other", Cgroup: "/elsewhere", Constraint: "none", AnonBytes: -1, FileBytes: -1, ShmemBytes: -1})
	o.found(oomlog.Kill{PID: 9, Command: "deep", Cgroup: "/group000/gone", Constraint: "memcg", AnonBytes: -1, FileBytes: -1, ShmemBytes: -1})
	o.other([]byte("tee (4711): drop_caches: 3"))
	sourcetest.Write(t, root, "group000/memory.events", "low 0\nhigh 0\nmax 0\noom 1\noom_kill 1\n")
	r.Ticks(1)
	told := r.Events("/group000", catalogue.EventMemoryOOMKill)
	if len(told) != 1 || told[0]["pid"] != "7" || told[0]["command"] != "grow" || told[0]["anon_bytes"] != "4096" || told[0]["count"] != "1" {
		t.Errorf("of the cgroup: %v", told)
	}
	if got := r.Triggers(sourcetest.Node); !slices.Contains(got, "oom_kill") {
		t.Errorf("the node's memory was used up, and the triggers are %v", got)
	}
	if got := r.Events(sourcetest.Node, catalogue.EventFsDropCaches); len(got) != 1 || got[0]["command"] != "tee" || got[0]["pid"] != "4711" || got[0]["what"] != "3" {
		t.Errorf("dropped caches: %v", got)
	}
	o.Discover(t.Context())
	if got := r.Events(sourcetest.Node, catalogue.EventMemoryOOMKill); len(got) != 0 {
		t.Errorf("a kill of the last moment has no cgroup yet: %v", got)
	}
	o.records.mu.Lock()
	for i := range o.records.ring {
		o.records.ring[i].atUS -= 2 * oomUnclaimedUS
	}
	o.records.mu.Unlock()
	o.Discover(t.Context())
	if got := r.Events(sourcetest.Node, catalogue.EventMemoryOOMKill); len(got) != 1 || got[0]["pid"] != "8" || got[0]["cgroup"] != "/elsewhere" {
		t.Errorf("of no watched cgroup: %v", got)
	}
	told = r.Events("/group000", catalogue.EventMemoryOOMKill)
	if len(told) != 2 || told[1]["pid"] != "9" || told[1]["cgroup"] != "/group000/gone" || told[1]["uncounted_by"] != "kernel_log" {
		t.Errorf("of a cgroup below that came and went: %v", told)
	}
}

// TestKillsAreThoseOfTheCgroupItself has a cgroup below which processes were killed.
func TestKillsAreThoseOfTheCgroupItself(t *testing.T) {
	root := sourcetest.CgroupTree(t, 2, 1)
	sourcetest.Write(t, root, "group000/memory.events.local", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n")
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Sources: []sampler.Source{&cgroupMemory{}}})
	r.Ticks(1)
	sourcetest.Write(t, root, "group000/memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\n")
	r.Ticks(1)
	r.Want("/group000", catalogue.MemoryLimitHits, 0)
	r.Want("/group000", catalogue.MemoryOOMKills, 0)
	if got := r.Triggers("/group000"); len(got) != 0 {
		t.Errorf("triggers %v", got)
	}
	sourcetest.Write(t, root, "group000/memory.events.local", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n")
	r.Ticks(1)
	r.Want("/group000", catalogue.MemoryLimitHits, 0, 3)
	r.Want("/group000", catalogue.MemoryOOMKills, 0, 1)
}

// TestAKillIsToldOnceOnCgroupV2 has a container whose two processes were killed together (memory.oom.group), and which
// was removed before its counter was read; without memory.events.local all cgroups above it count the kills.
func TestAKillIsToldOnceOnCgroupV2(t *testing.T) {
	const slice, pod = "kubepods.slice", "kubepods.slice/kubepods-pod0123456789abcdef0123456789abcdef.slice"
	container := pod + "/cri-containerd-" + strings.Repeat("a1", 32) + ".scope"
	device := filepath.Join(sourcetest.Tree(t, map[string]string{"kmsg": ""}), "kmsg")
	root := sourcetest.CgroupTree(t, 2, 0)
	for _, path := range []string{slice, pod} {
		for name, text := range sourcetest.GroupFiles[2][""] {
			sourcetest.Write(t, root, filepath.Join(path, name), text)
		}
	}
	memory, o := &cgroupMemory{}, &oomRecord{}
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Options: "device = '" + device + "'", Sources: []sampler.Source{memory, o}})
	r.Ticks(2)
	kill := oomlog.Kill{PID: 7, Command: "dd", Cgroup: "/" + container, Constraint: "memcg", AnonBytes: 4096, FileBytes: -1, ShmemBytes: -1}
	o.found(kill)
	o.found(kill) // the chosen process is logged again
	kill.PID, kill.Command = 6, "sh"
	o.found(kill)
	for _, path := range []string{slice, pod} {
		sourcetest.Write(t, root, path+"/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\n")
	}
	r.Ticks(1)
	memory.shut(&memoryGroup{Group: &sampler.Group{Location: cgroup.Location{Path: "/" + container}}, readUS: nowUS()})
	memory.tellGone(nowUS())
	o.records.mu.Lock()
	for i := range o.records.ring {
		o.records.ring[i].atUS -= 2 * oomUnclaimedUS
	}
	o.records.mu.Unlock()
	o.Discover(t.Context())
	r.Ticks(1)
	for _, at := range []string{sourcetest.Node, "/" + slice, "/" + pod} {
		if got := r.Events(at, catalogue.EventMemoryOOMKill); len(got) != 0 {
			t.Errorf("told at %s as well: %v", at, got)
		}
	}
	told := r.Events("/"+container, catalogue.EventMemoryOOMKill)
	if len(told) != 2 || told[0]["command"] != "dd" || told[1]["command"] != "sh" || told[0]["uncounted_by"] != "kernel_log" {
		t.Errorf("of the container: %v", told)
	}
}
