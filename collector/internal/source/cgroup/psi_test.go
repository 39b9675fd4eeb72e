package cgroup

import (
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

const pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=%\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n"

func TestPSI(t *testing.T) {
	total := func(us string) string { return strings.ReplaceAll(pressure, "%", us) }
	proc := sourcetest.Tree(t, map[string]string{"pressure/cpu": total("100"), "pressure/io": total("7"), "pressure/memory": total("1")})
	root := sourcetest.CgroupTree(t, 2, 1)
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Cgroup: root, Sources: []sampler.Source{&psi{}}})
	r.Ticks(20)
	sourcetest.Write(t, proc, "pressure/cpu", total("350"))
	sourcetest.Write(t, root, "group000/cpu.pressure", strings.ReplaceAll(pressure, "%", "25"))
	r.Ticks(20)
	sum := func(resource string, metric uint32) (total float64) {
		for _, value := range r.Values(resource, metric) {
			total += value
		}
		return total
	}
	if got := sum(sourcetest.Node, catalogue.PSICPUSomeUS); got != 250 {
		t.Errorf("the node stalled for %v us", got)
	}
	if got := sum("/group000", catalogue.PSICPUSomeUS); got != 20 {
		t.Errorf("the cgroup stalled for %v us", got)
	}
	if got := r.Values(sourcetest.Node, catalogue.PSIIOFullUS); len(got) == 0 || sum(sourcetest.Node, catalogue.PSIIOFullUS) != 0 {
		t.Errorf("io %v", got)
	}
}

// TestPSIOfAHybridMachine has version 1 controllers, and the v2 hierarchy next to them, as systemd sets it up.
func TestPSIOfAHybridMachine(t *testing.T) {
	total := func(us string) string { return strings.ReplaceAll(pressure, "%", us) }
	proc := sourcetest.Tree(t, map[string]string{"pressure/memory": total("1")})
	root := sourcetest.CgroupTree(t, 1, 2)
	sourcetest.Write(t, root, "unified/cgroup.controllers", "")
	sourcetest.Write(t, root, "unified/group000/memory.pressure", total("1"))
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Cgroup: root, Sources: []sampler.Source{&psi{}}})
	r.Ticks(20)
	sourcetest.Write(t, root, "unified/group000/memory.pressure", total("41"))
	r.Ticks(20)
	var waited float64
	for _, value := range r.Values("/group000", catalogue.PSIMemorySomeUS) {
		waited += value
	}
	if waited != 40 {
		t.Errorf("the cgroup waited for %v us", waited)
	}
	if got := r.Values("/group001", catalogue.PSIMemorySomeUS); len(got) != 0 {
		t.Errorf("not in the v2 hierarchy, and yet %v", got)
	}
}

func TestPSIWithoutIt(t *testing.T) {
	r := sourcetest.Start(t, sourcetest.Setup{Sources: []sampler.Source{&psi{}}})
	if got := r.Status("psi"); got != "UNAVAILABLE: /proc/pressure cannot be read" {
		t.Error(got)
	}
}
