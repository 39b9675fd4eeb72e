// Package cputime measures what work costs in CPU time: on a busy machine, the time on the clock is mostly that of
// others, and a break of the virtual machine counts as work.
package cputime

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Of runs work and returns the CPU time that it took on this thread; work starts no goroutines.
func Of(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := now()
	work()
	return now() - began
}

// now is the CPU time of this thread. The clock exists on every Linux.
func now() time.Duration {
	var used unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used)
	return time.Duration(used.Nano())
}
