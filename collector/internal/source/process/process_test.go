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

func TestLimits(t *testing.T) {
	for _, one := range []struct {
		hidden, shed  int
		detail, needs string
	}{
		{0, 0, "", ""},
		{0, 3, "3 processes more than the limit of 128 are not watched", ""},
		{12, 3, "the programs of 12 processes cannot be read", "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"},
	} {
		if detail, needs := limits(one.hidden, one.shed); detail != one.detail || needs != one.needs {
			t.Errorf("%d hidden, %d shed: %q, needs %q", one.hidden, one.shed, detail, needs)
		}
	}
}
