package agent

import (
	"runtime"
	"runtime/debug"

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
		processors  = 4
		gcPercent   = 20
		memoryLimit = 64 << 20 // a backstop; near it the collector would spend its time collecting
	)
	runtime.GOMAXPROCS(processors)
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
}
