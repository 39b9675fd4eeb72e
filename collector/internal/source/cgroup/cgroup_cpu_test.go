package cgroup

import (
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestCgroupCPU(t *testing.T) {
	root := sourcetest.CgroupTree(t, 2, 2)
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Sources: []sampler.Source{&cgroupCPU{}}})
	r.Ticks(1)
	sourcetest.Write(t, root, "group001/cpu.stat", "usage_usec 50100\nuser_usec 40060\nsystem_usec 10040\nnr_periods 13\nnr_throttled 4\nthrottled_usec 133456\n")
	sourcetest.Write(t, root, "group001/cpu.stat.local", "throttled_usec 1500\n")
	r.Ticks(1)
	for metric, want := range map[uint32]float64{
		catalogue.CPUUsageUS: 50_000, catalogue.CPUUserUS: 40_000, catalogue.CPUSystemUS: 10_000, catalogue.CPUPeriods: 1,
		catalogue.CPUThrottledPeriods: 1, catalogue.CPUThrottledUS: 10_000, catalogue.CPUThrottledLocalUS: 500,
	} {
		r.Want("/group001", metric, want)
	}
	r.Want("/group000", catalogue.CPUUsageUS, 0)
	if got := r.Triggers("/group001"); !slices.Equal(got, []string{"throttled"}) {
		t.Errorf("triggers %v", got)
	}
	for name, want := range map[string]string{
		catalogue.FactCPUQuotaUS: "50000", catalogue.FactCPUPeriodUS: "100000", catalogue.FactCPUBurstUS: "0", catalogue.FactCPUParentQuotaUS: "-1",
		catalogue.FactCPUWeight: "39",
	} {
		if got := r.Fact("/group001", name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestCgroupCPUOnVersion1(t *testing.T) {
	root := sourcetest.CgroupTree(t, 1, 1)
	r := sourcetest.Start(t, sourcetest.Setup{Cgroup: root, Sources: []sampler.Source{&cgroupCPU{}}})
	r.Ticks(1)
	sourcetest.Write(t, root, "cpuacct/group000/cpuacct.usage", "173456789\n")
	sourcetest.Write(t, root, "cpuacct/group000/cpuacct.stat", "user 15\nsystem 5\n")
	r.Ticks(1)
	r.Want("/group000", catalogue.CPUUsageUS, 50_000)
	r.Want("/group000", catalogue.CPUUserUS, 30_000)
	r.Want("/group000", catalogue.CPUSystemUS, 20_000)
	r.Want("/group000", catalogue.CPUThrottledPeriods, 0)
	if got := r.Fact("/group000", catalogue.FactCPUWeight); got != "0.195" { // cpu.shares 2
		t.Errorf("weight %q", got)
	}
}

func TestWithoutCgroups(t *testing.T) {
	r := sourcetest.Start(t, sourcetest.Setup{Sources: []sampler.Source{&cgroupCPU{}, &cgroupMemory{}, &cgroupPids{}, &cgroupReclaim{}}})
	for _, name := range []string{"cgroup_cpu", "cgroup_memory", "cgroup_pids", "cgroup_reclaim"} {
		if got := r.Status(name); len(got) < 13 || got[:13] != "UNAVAILABLE: " {
			t.Errorf("%s: %q", name, got)
		}
	}
}
