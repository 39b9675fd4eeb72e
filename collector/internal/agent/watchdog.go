package agent

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// A tick is due every 100 ms. Even a node whose processors are all occupied by real-time work runs the sampling thread
// within this many seconds; a check counts only if this goroutine ran in it, so a suspended node does not trigger it.
const (
	watchEvery   = time.Second
	watchLongest = 30
)

// watchTicks aborts the process, with the stacks of all threads in its log, when the sampling thread has made no
// progress for longest checks in a row: a collector that reports nothing is worse than one that restarts, and the open
// batch lies in a mapped file that the next run sends. ticks is a counter that grows with each tick; before the first
// one, nothing is due.
func watchTicks(ctx context.Context, ticks func() uint64, every time.Duration, longest int, log *slog.Logger) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var last uint64
	for still := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := ticks(); now != last || now == 0 {
			last, still = now, 0
			continue
		}
		if still++; still < longest {
			continue
		}
		log.Error("the sampling thread is stuck; the collector exits to be restarted. Report the stacks that follow",
			"seconds", (time.Duration(still) * every).Seconds())
		abort()
	}
}

// abort prints the stacks of all goroutines, including running ones (traceback level crash), and ends the process
// without a core file.
func abort() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	debug.SetTraceback("crash")
	_ = unix.Kill(unix.Getpid(), unix.SIGQUIT)
	select {} // until the signal has ended the process
}
