// Package priority gives threads precedence over ordinary work: being late is what the collector measures in others.
//
// It cannot starve anything: a tick is a few milliseconds of work, the budget sheds work if it grows, a thread that
// never stops loses the priority (RLIMIT_RTTIME, see package agent), and the kernel reserves 5 % for others in any
// case.
package priority

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Raise gives the calling thread the lowest real-time priority or, if that is not permitted (CAP_SYS_NICE,
// RLIMIT_RTPRIO, no real-time share in a v1 cpu cgroup), a better nice value, or nothing. The thread must be locked to
// its goroutine.
func Raise() {
	if !set(unix.SCHED_RR|resetOnFork, 1) {
		Nice()
	}
}

// Nice is the part of Raise without real-time priority. Sleeps of ordinary threads can be longer by their timer slack,
// 50 µs or that of the thread that created this one; here it is set to the minimum.
func Nice() {
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -15)
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

const resetOnFork = 0x40000000 // SCHED_RESET_ON_FORK in the kernel's include/uapi/linux/sched.h

// set gives the calling thread a policy (sched_setscheduler(2)); its nice value is kept for when it is ordinary again.
func set(policy uintptr, priority int32) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, policy, uintptr(unsafe.Pointer(&priority)))
	return errno == 0
}

// IsRealtime says whether the calling thread has real-time priority.
func IsRealtime() bool {
	policy, known := policy()
	return known && (policy == unix.SCHED_RR || policy == unix.SCHED_FIFO)
}

func isOrdinary() bool {
	policy, known := policy()
	return known && policy == unix.SCHED_NORMAL
}

func policy() (policy uintptr, known bool) {
	policy, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	return policy &^ resetOnFork, errno == 0
}
