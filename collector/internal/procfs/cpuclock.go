package procfs

import "golang.org/x/sys/unix"

// CPUClock is the clock id of a whole process's CPU time in nanoseconds, MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of
// the kernel's posix-timers.h. It is one system call without parsing, and finer than the 10 ms of /proc/PID/stat.
func CPUClock(pid int) int32 { return int32(^pid)<<3 | 2 }

// Runs reports whether there is a process with that PID, by its CPU clock.
func Runs(clock int32) bool {
	var now unix.Timespec
	return unix.ClockGettime(clock, &now) == nil
}
