package agent

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestStandstillEndsTheProcess runs itself with a thread that spins and never ticks again.
func TestStandstillEndsTheProcess(t *testing.T) {
	const inside = "JITTERSCOPE_TEST_STANDSTILL"
	if os.Getenv(inside) != "" {
		var ticks atomic.Uint64
		ticks.Store(7)
		go spinForTheWatchdog()
		watchTicks(t.Context(), ticks.Load, 10*time.Millisecond, 3, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^TestStandstillEndsTheProcess$", "-test.timeout=60s")
	command.Env = append(os.Environ(), inside+"=1")
	said, err := command.CombinedOutput()
	if err == nil {
		t.Error("the process ended well")
	}
	for _, wanted := range []string{"the sampling thread is stuck", "spinForTheWatchdog", "watchTicks"} {
		if !strings.Contains(string(said), wanted) {
			t.Errorf("it did not say %q:\n%s", wanted, said)
		}
	}
}

//go:noinline
func spinForTheWatchdog() {
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
	}
}

// TestTicksKeepTheWatchdogQuiet would end the test process on failure.
func TestTicksKeepTheWatchdogQuiet(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	watchTicks(ctx, func() uint64 { return 0 }, time.Millisecond, 3, slog.New(slog.DiscardHandler))
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var calls atomic.Uint64
	watchTicks(ctx, func() uint64 { return calls.Add(1) }, time.Millisecond, 3, slog.New(slog.DiscardHandler))
}
