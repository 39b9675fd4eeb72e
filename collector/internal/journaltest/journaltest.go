// Package journaltest runs a journal for tests.
package journaltest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// Start runs a systemd-journald in its own mount namespace, so that it has its own /run, and returns that.
func Start(t testing.TB) (run string) {
	t.Helper()
	for _, program := range []string{"/lib/systemd/systemd-journald", "/usr/bin/journalctl"} {
		if _, err := os.Stat(program); err != nil {
			testenv.Skip(t, "no systemd here: %v", err)
		}
	}
	// Without audit, kernel messages and terminals: it must not affect this machine.
	command := exec.Command("unshare", "--mount", "sh", "-c", `
		mount -t tmpfs tmpfs /run && mkdir -p /run/log/journal /run/systemd/journal /run/systemd/journald.conf.d &&
		printf '[Journal]\nStorage=volatile\nAudit=no\nReadKMsg=no\nForwardToWall=no\n' > /run/systemd/journald.conf.d/test.conf &&
		exec /lib/systemd/systemd-journald`)
	if err := deathsig.Start(command); err != nil {
		testenv.Skip(t, "no mount namespace: %v", err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
	run = fmt.Sprintf("/proc/%d/root/run", command.Process.Pid)
	for range 100 {
		if _, err := os.Stat(run + "/systemd/journal/socket"); err == nil {
			return run
		}
		select {
		case <-ended:
			testenv.Skip(t, "systemd-journald does not run here; it needs root")
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("systemd-journald created no socket")
	return ""
}
