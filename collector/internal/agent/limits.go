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

// Huge pages would make megabytes resident that are reserved but never touched. This must be set before the heap grows,
// hence init.
func init() { _ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) }

// limitSelf keeps the collector small. The work is one sampling thread and little else, so early garbage collection is
// cheap. GOMAXPROCS is higher than that needs, so that a processor is free for the sampling thread when it wakes up,
// even if the node is so busy that the threads holding the others are not running.
func limitSelf() {
	const (
		processors  = 8
		gcPercent   = 20
		memoryLimit = 64 << 20 // a backstop; near it the collector would spend its time on garbage collection
	)
	runtime.GOMAXPROCS(processors)
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	raiseThreads()
	calmSysmon()
}

// raiseThreads gives all threads a better nice value if that is permitted (CAP_SYS_NICE). The sampling threads, which
// run above all ordinary work (priority.Raise), have to wait for the others: every thread must stop once to begin and
// once to end a garbage collection, and a thread that a busy node does not schedule stops late. Their work is small and
// has a budget. Threads started later inherit the value.
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

// affordableCgroups is how many cgroups can be watched with the file descriptors this process may open, at most wanted.
func affordableCgroups(wanted int, log *slog.Logger) int {
	const (
		perCgroup = 10  // nine files are kept open for each
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
