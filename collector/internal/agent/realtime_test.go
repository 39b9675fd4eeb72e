package agent

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/priority"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

const realTimeEnvironment = "JITTERSCOPE_TEST_REAL_TIME"

func TestMain(m *testing.M) {
	if os.Getenv(realTimeEnvironment) != "" {
		runOnAndOn()
	}
	os.Exit(m.Run())
}

// runOnAndOn is a sampling thread that never stops. It prints its priority before and after.
func runOnAndOn() {
	runtime.LockOSThread()
	policy := func() uint32 {
		attributes, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			return 99
		}
		return attributes.Policy
	}
	priority.Raise()
	if policy() != unix.SCHED_RR {
		os.Stdout.WriteString("not allowed\n")
		os.Exit(0)
	}
	boundRealTime(context.Background(), slog.New(slog.NewTextHandler(os.Stdout, nil)))
	for began := time.Now(); time.Since(began) < 4*time.Second; {
		runtime.KeepAlive(spin())
		if policy() == unix.SCHED_NORMAL {
			time.Sleep(100 * time.Millisecond) // the log line comes afterwards
			os.Stdout.WriteString("ordinary again\n")
			os.Exit(0)
		}
	}
	os.Exit(1)
}

// spin computes for a while. Nothing in it yields to the Go scheduler, which would pause the thread.
func spin() (sum int) {
	for i := range 300_000_000 {
		sum += i * sum
	}
	return sum
}

// TestRealTimePriorityIsBounded uses its own process: the limit cannot be raised again.
func TestRealTimePriorityIsBounded(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), realTimeEnvironment+"=1", "GODEBUG=asyncpreemptoff=1")
	output, err := command.CombinedOutput()
	if bytes.Contains(output, []byte("not allowed")) {
		testenv.Skip(t, "real-time priority is not allowed here (CAP_SYS_NICE)")
	}
	if err != nil || !strings.Contains(string(output), "ordinary again") || !strings.Contains(string(output), "threads=1") {
		t.Errorf("%v\n%s", err, output)
	}
}
