package livetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
)

// A process counts from the scan after it is in a limited cgroup, one second later at most; the rest allows for a busy
// machine.
const noticedWithin = 3 * time.Second

// sleeper starts a process that does nothing and returns its PID and resource key.
func sleeper(t *testing.T) (pid int, key string) {
	t.Helper()
	command := exec.Command("sleep", "120")
	if err := deathsig.Start(command); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	pid = command.Process.Pid
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	return pid, fmt.Sprintf("%d:%s", pid, fields[19])
}

// TestProcessesAreNoticedSoon does what container runtimes and administrators do: the limit is written after the
// process has started, and an old process is moved into a limited cgroup.
func TestProcessesAreNoticedSoon(t *testing.T) {
	t.Parallel()
	limited, _ := cgroupFor(t, 50_000)
	late, _ := cgroupFor(t, 50_000)
	file, none, limit := "cpu.cfs_quota_us", "-1", "50000"
	if _, err := os.Stat(filepath.Join(late, file)); err != nil {
		file, none, limit = "cpu.max", "max 100000", "50000 100000"
	}
	write := func(directory, name, value string) {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(late, file, none)
	o := observe(t, "process")
	old, oldKey := sleeper(t)
	time.Sleep(12 * time.Second) // no longer young

	young, youngKey := sleeper(t)
	write(late, "cgroup.procs", fmt.Sprint(young))
	time.Sleep(1500 * time.Millisecond) // it was checked while it had no limit
	from := time.Now()
	write(late, file, limit)
	write(limited, "cgroup.procs", fmt.Sprint(old))
	for what, key := range map[string]string{"whose cgroup was given a limit": youngKey, "that was moved": oldKey} {
		waitFor(t, "process "+what, func() bool { return len(o.series(key, catalogue.ProcessCPUUS)) > 0 })
		after := time.UnixMicro(o.series(key, catalogue.ProcessCPUUS)[0].startUS).Sub(from)
		t.Logf("a process %s was sampled %s later", what, after)
		if after > noticedWithin {
			t.Errorf("a process %s was sampled only %s later", what, after)
		}
	}
}
