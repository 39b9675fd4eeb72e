package sampler

import "golang.org/x/sys/unix"

// Hurry gives the calling thread precedence over ordinary work, since being late is what we measure in others: the lowest
// real-time priority, or where that is not allowed (CAP_SYS_NICE, RLIMIT_RTPRIO, no real-time share in a v1 cpu cgroup) a
// better nice value, or nothing. The thread must be locked to its goroutine.
//
// It can not starve anybody: a tick is a few milliseconds of work, the budget sheds work where it grows, and the kernel
// keeps 5 % for others in any case.
func Hurry() {
	attributes := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if unix.SchedSetAttr(0, attributes, 0) != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -15)
	}
}
