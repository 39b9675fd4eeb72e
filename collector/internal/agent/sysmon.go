package agent

import (
	"os"
	"strconv"
	"time"
)

// calmSysmon lets the Go runtime's monitor (sysmon in runtime/proc.go) look less often. While any goroutine runs it sleeps for
// 20 µs at a time: with a few milliseconds of work in each tick it would wake up 700 times a second, which was a third of the
// collector's CPU time at 100 cgroups. What it is there for, to take processors from threads that block and to interrupt
// goroutines after 10 ms, can wait for a millisecond, as there are more processors than work.
//
// The kernel may delay a sleep by the thread's timer slack (prctl(2), PR_SET_TIMERSLACK; proc(5), timerslack_ns, for another
// thread since Linux 4.6 with CAP_SYS_NICE). Where it can not be set nothing changes but the CPU time.
func calmSysmon() {
	const slack = time.Millisecond
	if thread := sysmonThread(); thread != "" {
		_ = os.WriteFile("/proc/"+thread+"/timerslack_ns", strconv.AppendInt(nil, slack.Nanoseconds(), 10), 0)
	}
}

// sysmonThread returns the ID of the monitor's thread: runtime.main makes it before any other, and the kernel lists threads
// in the order in which they were made. It is "" where they can not be listed.
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
