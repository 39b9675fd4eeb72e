package process

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestProcess(t *testing.T) {
	proc := t.TempDir()
	sourcetest.AddProcess(t, proc, "unbound", "/")
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&process{}}})
	r.Ticks(1)
	spent := 0
	for spent < 1_000_000 { // the CPU time is this process's
		spent++
	}
	r.Ticks(20)
	key := sourcetest.ProcessKey()
	used := 0.0
	for _, us := range r.Values(key, catalogue.ProcessCPUUS) {
		used += us
	}
	if used <= 0 || used > 60e6 {
		t.Errorf("%v us of CPU time", used)
	}
	r.Want(key, catalogue.ProcessThreads, 4, 4)
	for name, want := range map[string]string{"process.command": "unbound", "process.executable": "unbound"} {
		if got := r.Fact(key, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := r.Fact(key, "process.affinity_cpus"); got == "" || got == "0" {
		t.Errorf("it may run on %q CPUs", got)
	}
	if got := r.Events(key, "process.start"); len(got) != 1 || got[0]["command"] != "unbound" {
		t.Errorf("events %v", got)
	}
}
