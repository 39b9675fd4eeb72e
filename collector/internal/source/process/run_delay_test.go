package process

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// account writes the scheduler's account of a thread.
func account(t *testing.T, proc string, pid, thread int, ranUS, waitedUS int) {
	t.Helper()
	sourcetest.Write(t, proc, fmt.Sprintf("%d/task/%d/schedstat", pid, thread), fmt.Sprintf("%012d %012d 7\n", ranUS*1000, waitedUS*1000))
}

func startRunDelay(t *testing.T, proc string) (*sourcetest.Run, *runDelay) {
	t.Helper()
	source := &runDelay{}
	return sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{source}}), source
}

func TestRunDelay(t *testing.T) {
	proc := t.TempDir()
	pid, _ := sourcetest.AddProcess(t, proc, "unbound", "/")
	account(t, proc, pid, pid, 500, 9000)
	account(t, proc, pid, 2, 500, 100)
	r, source := startRunDelay(t, proc)
	r.Ticks(2) // what was before the first reading is history
	account(t, proc, pid, pid, 800, 9300)
	account(t, proc, pid, 2, 600, 150)
	r.Ticks(1)
	account(t, proc, pid, 3, 100, 40) // a thread that started in the meantime: all of it is new
	source.Discover(t.Context())
	r.Ticks(1)
	sourcetest.Remove(t, proc, fmt.Sprintf("%d/task/2", pid)) // its wait has been counted and stays so
	source.Discover(t.Context())
	account(t, proc, pid, 3, 100, 45)
	r.Ticks(2)
	r.Want(sourcetest.ProcessKey(), catalogue.ProcessRunDelayUS, 350, 40, 5, 0)
}

func TestRunDelayOfTheBusiest(t *testing.T) {
	proc := t.TempDir()
	pid, _ := sourcetest.AddProcess(t, proc, "unbound", "/")
	const idle, busy = 300, 20
	account(t, proc, pid, pid, 1, 1)
	for i := range idle {
		account(t, proc, pid, 1_000_000+i, 1, 1)
	}
	for i := range busy {
		account(t, proc, pid, 2_000_000+i, 1000+i, 1)
	}
	r, source := startRunDelay(t, proc)
	if status := r.Status("run_delay"); !strings.Contains(status, fmt.Sprintf("only the busiest 256 of %d threads", idle+busy+1)) {
		t.Errorf("status %q", status)
	}
	var read []int
	for _, thread := range source.sampled.All[0].threads.All {
		read = append(read, thread.ID)
	}
	if len(read) != mostThreads {
		t.Errorf("%d threads are read", len(read))
	}
	for i := range busy {
		if !slices.Contains(read, 2_000_000+i) {
			t.Errorf("busy thread %d is not read", i)
		}
	}
	for i := range idle {
		sourcetest.Remove(t, proc, fmt.Sprintf("%d/task/%d", pid, 1_000_000+i))
	}
	source.Discover(t.Context())
	if status := r.Status("run_delay"); status != "ACTIVE" {
		t.Errorf("status %q", status)
	}
}

func TestRunDelayWithoutAccounts(t *testing.T) {
	proc := t.TempDir()
	pid, _ := sourcetest.AddProcess(t, proc, "unbound", "/")
	for _, text := range []string{"", "0 0 0\n"} { // CONFIG_SCHED_INFO off; task delay accounting off
		sourcetest.Write(t, proc, fmt.Sprintf("%d/task/%d/schedstat", pid, pid), text)
		r, _ := startRunDelay(t, proc)
		if status := r.Status("run_delay"); !strings.HasPrefix(status, "UNAVAILABLE: ") {
			t.Errorf("%q: %s", text, status)
		}
	}
}
