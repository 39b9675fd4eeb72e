package sampler

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// occupies keeps a CPU from all other programs for a while. Threads of Go pause now and then.
const occupies = `
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
`

// TestLatencyOfTheSamplingThread: while its CPU runs something with more priority, it is due and does not run. What it
// waits for itself is no latency.
func TestLatencyOfTheSamplingThread(t *testing.T) {
	var latencies []int64
	var sampled atomic.Int64
	const cpu = 0
	slow := &probe{name: "a", sample: func(Tick, *Recorder) {
		if sampled.Load() < 5 {
			time.Sleep(20 * time.Millisecond)
		}
	}}
	source := &probe{name: "b", sample: func(_ Tick, recorder *Recorder) {
		if len(latencies) == 0 { // from now on the thread stays here
			var only unix.CPUSet
			only.Set(cpu)
			_ = unix.SchedSetaffinity(0, &only)
		}
		recorder.NoticeStandstill()
		latencies = append(latencies, recorder.LatencyUS())
		sampled.Add(1)
	}}
	h := newHarness(t, t.TempDir(), slow, source)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	for sampled.Load() < 6 {
		time.Sleep(10 * time.Millisecond)
	}
	if out, err := exec.Command("python3", "-c", occupies, strconv.Itoa(cpu), "0.4").CombinedOutput(); err != nil {
		testenv.Skip(t, "needs real-time priority: %v, %s", err, out)
	}
	for before := sampled.Load(); sampled.Load() < before+5; {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if slices.Min(latencies) < 0 {
		testenv.Skip(t, "needs real-time priority")
	}
	if longest, waiting := slices.Max(latencies), slices.Min(latencies[:5]); longest < 280_000 || waiting > 15_000 {
		t.Errorf("latencies %v us", latencies)
	}
}
