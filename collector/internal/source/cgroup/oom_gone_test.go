package cgroup

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/oomlog"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

const gonePod = "kubepods/burstable/pod9118fc9a-5622-43c2-a6a9-ea0a582ea247"

// TestAKillWhoseCgroupWentIsTold has three containers of a pod that were removed before their kill counters were read.
func TestAKillWhoseCgroupWentIsTold(t *testing.T) {
	logged, asked, ended := strings.Repeat("a1", 32), strings.Repeat("b2", 32), strings.Repeat("c3", 32)
	root := sourcetest.CgroupTree(t, 1, 0)
	for controller, files := range sourcetest.GroupFiles[1] {
		for name, text := range files {
			sourcetest.Write(t, root, filepath.Join(controller, gonePod, name), text)
		}
	}
	memory := &cgroupMemory{}
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Sources: []sampler.Source{memory}})
	r.Ticks(2)
	at := memory.set.All[len(memory.set.All)-1].readUS
	if at == 0 {
		t.Fatal("when the memory was read last is not known")
	}
	for _, id := range []string{logged, asked, ended} {
		memory.shut(&memoryGroup{Group: &sampler.Group{Location: cgroup.Location{Path: "/" + gonePod + "/" + id}}, readUS: at})
	}
	memory.records.add(oomlog.Kill{PID: 7, Command: "grow", Cgroup: "/" + gonePod + "/" + logged, Constraint: "memcg", AnonBytes: 4096, FileBytes: -1, ShmemBytes: -1}, at+50_000)
	memory.gone.ends.Put([]names.End{
		{ID: asked, Reason: "OOMKilled", ExitCode: 137, AtUS: at / 1_000_000 * 1_000_000, Restarts: 2},
		{ID: ended, Reason: "Error", ExitCode: 1, AtUS: at / 1_000_000 * 1_000_000},
	})
	memory.tellGone(nowUS())
	r.Ticks(1)
	told := r.Events("/"+gonePod+"/"+logged, catalogue.EventMemoryOOMKill)
	if len(told) != 1 || told[0]["command"] != "grow" || told[0]["uncounted_by"] != "kernel_log" || told[0]["count"] != "1" {
		t.Errorf("by the kernel's log: %v", told)
	}
	if got := r.Events("/"+gonePod+"/"+asked, catalogue.EventMemoryOOMKill); len(got) != 0 {
		t.Errorf("the kernel's log may tell more in a moment: %v", got)
	}
	memory.gone.mu.Lock()
	for i := range memory.gone.list {
		memory.gone.list[i].goneUS -= goneLogUS
	}
	memory.gone.mu.Unlock()
	memory.tellGone(nowUS())
	r.Ticks(1)
	told = r.Events("/"+gonePod+"/"+asked, catalogue.EventMemoryOOMKill)
	if len(told) != 1 || told[0]["uncounted_by"] != "kubelet" || told[0]["exit_code"] != "137" || told[0]["restarts"] != "2" {
		t.Errorf("by the kubelet: %v", told)
	}
	if got := r.Triggers("/" + gonePod + "/" + asked); len(got) != 1 || got[0] != "oom_kill" {
		t.Errorf("triggers %v", got)
	}
	if got := r.Events("/"+gonePod+"/"+ended, catalogue.EventMemoryOOMKill); len(got) != 0 {
		t.Errorf("it ended by itself: %v", got)
	}
	memory.tellGone(nowUS())
	r.Ticks(1)
	if got := r.Events("/"+gonePod+"/"+asked, catalogue.EventMemoryOOMKill); len(got) != 1 {
		t.Errorf("told again: %v", got)
	}
	if len(memory.gone.list) != 0 {
		t.Errorf("still kept: %v", memory.gone.list)
	}
}
