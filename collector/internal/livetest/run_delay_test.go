package livetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

// waited is how long the current threads of a process have waited for a CPU in their lifetime.
func waited(t *testing.T, pid int) (us float64, threads map[string]float64) {
	t.Helper()
	threads = make(map[string]float64)
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if account, ok := procfs.ParseSchedstat(text); err == nil && ok {
			threads[file] = float64(account.WaitNS / 1000)
			us += threads[file]
		}
	}
	return us, threads
}

// TestRunDelay observes a program that has no limit and is not a DNS server, but listens: three threads that share a
// CPU wait for it most of the time.
func TestRunDelay(t *testing.T) {
	t.Parallel()
	binary := buildTestProgram(t, "crowd")
	command := startServer(t, nil, binary, freeAddress(t, "127.0.0.1"))
	o := observe(t, "process,run_delay")
	o.needs("run_delay")
	process := ""
	waitFor(t, "the process is known", func() bool {
		process = o.processKey(command.Process.Pid)
		return process != "" && len(o.series(process, catalogue.ProcessRunDelayUS)) > 0
	})
	_, before := waited(t, command.Process.Pid)
	from := time.Now()
	time.Sleep(4 * time.Second)
	_, after := waited(t, command.Process.Pid)
	until := time.Now()
	waitFor(t, "the ticks until then were sent", func() bool {
		points := o.series(process, catalogue.ProcessRunDelayUS)
		return points[len(points)-1].startUS > until.UnixMicro()
	})
	truth, recorded := 0.0, 0.0
	for file, us := range after {
		truth += us - before[file]
	}
	for _, p := range o.series(process, catalogue.ProcessRunDelayUS) {
		if p.value < 0 {
			t.Errorf("%v us in a tick", p.value)
		}
		if p.startUS >= from.UnixMicro() && p.startUS < until.UnixMicro() {
			recorded += p.value
		}
	}
	t.Logf("the threads waited for %.0f ms, recorded are %.0f ms", truth/1000, recorded/1000)
	// Ticks do not begin and end when the account was read, and threads of 20 ms can come and go between two listings.
	if truth < 3e6 || recorded < 0.9*truth || recorded > 1.1*truth {
		t.Errorf("the threads waited for %.0f us, recorded are %.0f us", truth, recorded)
	}
}
