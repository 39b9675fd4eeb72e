package agent

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The sampling threads have real-time priority (priority.Raise), so they could keep everything else off a CPU if they
// never stopped. The kernel counts how long they run without blocking. The Go scheduler pauses a thread that computes
// for 10 ms, so this mostly bounds time within a system call. A tick takes a few milliseconds.
const (
	realTimeSoft = 200 * time.Millisecond // then the kernel sends SIGXCPU, and they become ordinary threads
	realTimeHard = 5 * time.Second        // then it kills the collector, in case that did not help
)

// boundRealTime sets these limits and handles the signal until ctx ends.
func boundRealTime(ctx context.Context, log *slog.Logger) {
	limit := unix.Rlimit{Cur: uint64(realTimeSoft.Microseconds()), Max: uint64(realTimeHard.Microseconds())}
	var old unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTTIME, &old) == nil {
		limit.Cur, limit.Max = min(limit.Cur, old.Max), min(limit.Max, old.Max)
	}
	exceeded := make(chan os.Signal, 1)
	signal.Notify(exceeded, unix.SIGXCPU)
	if err := unix.Setrlimit(unix.RLIMIT_RTTIME, &limit); err != nil {
		log.Warn("the real-time priority of the sampling threads has no bound", "error", err)
	}
	go func() {
		defer signal.Stop(exceeded)
		for {
			select {
			case <-ctx.Done():
				return
			case <-exceeded:
				log.Warn("sampling threads gave up real-time priority until a restart: one ran too long without a pause",
					"limit", realTimeSoft.String(), "threads", calm())
			}
		}
	}()
}

// calm makes all threads of this process ordinary ones and returns how many were not.
func calm() (changed int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	for _, task := range tasks {
		thread, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		attributes, err := unix.SchedGetAttr(thread, 0)
		if err != nil || (attributes.Policy != unix.SCHED_RR && attributes.Policy != unix.SCHED_FIFO) {
			continue
		}
		ordinary := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: -10}
		if unix.SchedSetAttr(thread, &ordinary, 0) == nil {
			changed++
		}
	}
	return changed
}
