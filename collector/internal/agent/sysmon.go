package agent

import (
	"os"
	"strconv"
	"time"
)

// calmSysmon makes the Go runtime's monitor (sysmon in runtime/proc.go) run less often. While any goroutine runs it
// sleeps for 20 µs at a time: with a few milliseconds of work in each tick it would wake up 700 times/s, which was a
// third of the collector's CPU time at 100 cgroups. Its purpose, to retake processors from threads that block and to
// preempt goroutines after 10 ms, can wait a millisecond, because there are more processors than work.
//
// The kernel can delay a sleep by the thread's timer slack (prctl(2), PR_SET_TIMERSLACK; proc(5), timerslack_ns, for
// another thread since Linux 4.6 with CAP_SYS_NICE). If it cannot be set, nothing changes but the CPU time.
func calmSysmon() {
	const slack = time.Millisecond
	if thread := sysmonThread(); thread != "" {
		_ = os.WriteFile("/proc/"+thread+"/timerslack_ns", strconv.AppendInt(nil, slack.Nanoseconds(), 10), 0)
	}
}

// sysmonThread returns the ID of the monitor's thread: runtime.main creates it before any other, and the kernel lists
// threads in creation order. It is "" if they cannot be listed.
func sysmonThread() string {
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		return ""
	}
	defer func() { _ = tasks.Close() }()
	names, err := tasks.Readdirnames(2) // in the kernel's order
	if err != nil || len(names) < 2 {
		return ""
	}
	return names[1]
}
