package livetest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// stopped stops a process for a while, calls work in the meantime, and returns when the process was told to stop. The
// work begins when every thread has stopped: on a busy machine a running one takes milliseconds to notice.
func stopped(t *testing.T, command *exec.Cmd, duration time.Duration, work func()) time.Time {
	t.Helper()
	at := time.Now()
	if err := command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := at.Add(5 * time.Second); !allStopped(t, command.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs 5 s after SIGSTOP", command.Process.Pid)
		}
	}
	work()
	time.Sleep(time.Until(at.Add(duration)))
	if err := command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	return at
}

// allStopped reports whether every thread of a process is in state T (man 5 proc_pid_stat).
func allStopped(t *testing.T, pid int) bool {
	t.Helper()
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(stats) == 0 {
		t.Fatalf("no threads of process %d: %v", pid, err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			return false // the thread has just ended
		}
		if _, rest, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	return true
}

// flood sends queries as fast as possible and does not wait for answers.
func flood(t *testing.T, server string, count int) {
	t.Helper()
	connection, err := net.Dial("udp", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	message := new(dns.Msg)
	message.SetQuestion("flood.example.", dns.TypeA)
	for i := range count {
		message.Id = uint16(i)
		wire, err := message.Pack()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = connection.Write(wire)
	}
}
