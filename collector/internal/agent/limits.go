package agent

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"
)

// Huge pages would make megabytes resident that are reserved and never touched. It has to be said before the heap grows,
// hence init.
func init() { _ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) }

// limitSelf keeps the collector small. The work is one sampling thread and a little beside it, so collecting garbage
// early is cheap. There are more processors than that needs, so that one is free for the sampling thread when it wakes
// up, also where the node is so busy that the threads that hold the others do not run.
func limitSelf() {
	const (
		processors  = 8
		gcPercent   = 20
		memoryLimit = 64 << 20 // a backstop; near it the collector would spend its time collecting
	)
	runtime.GOMAXPROCS(processors)
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	raiseThreads()
	calmSysmon()
}

// raiseThreads gives all threads a better nice value where that is allowed (CAP_SYS_NICE). The sampling threads, which are
// above all ordinary work (priority.Raise), have to wait for the others: to begin and to end a garbage collection every
// thread must stop once, and one that a busy node does not let run stops late. Their work is small and has a budget.
// Threads that start later inherit the value.
func raiseThreads() {
	const nice = -10
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, task := range tasks {
		if thread, err := strconv.Atoi(task.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, thread, nice)
		}
	}
}

// affordableCgroups is how many cgroups can be watched with the descriptors that this process may open, at most wanted.
func affordableCgroups(wanted int, log *slog.Logger) int {
	const (
		perCgroup = 10  // nine files are held open of each
		forOthers = 256 // sockets, probes, processes
	)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return wanted
	}
	affordable := max(1, (int(min(limit.Cur, 1<<30))-forOthers)/perCgroup)
	if affordable >= wanted {
		return wanted
	}
	log.Warn("fewer cgroups can be watched than --max-cgroups", "max_cgroups", wanted, "watched", affordable,
		"needs", fmt.Sprintf("a limit of %d open files (LimitNOFILE, ulimit -n); it is %d", wanted*perCgroup+forOthers, limit.Cur))
	return affordable
}
