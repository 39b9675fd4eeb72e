// Package alternating measures what something costs a process: it is switched on and off in turn, in windows of a second or so, so that
// whatever else the machine does meets both alike.
package alternating

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// OnLastCPU starts a process on the last CPU and keeps this one (load, observer) to the others: where they meet on a CPU, the
// CPU time per query changes by more than what is measured here. With one CPU nothing is pinned.
func OnLastCPU(start func() error) error {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return fmt.Errorf("reading the CPU affinity: %w", err)
	}
	if all.Count() < 2 {
		return start()
	}
	last := -1
	for cpu := range len(all) * 64 {
		if all.IsSet(cpu) {
			last = cpu
		}
	}
	var server unix.CPUSet
	server.Set(last)
	rest := all
	rest.Clear(last)
	// A child inherits the affinity of the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &server); err != nil {
		return fmt.Errorf("setting the server's CPU: %w", err)
	}
	started := start()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("listing threads: %w", err)
	}
	for _, task := range tasks {
		// Threads that start later inherit it from these; one that ended meanwhile needs none.
		if thread, err := strconv.Atoi(task.Name()); err == nil {
			_ = unix.SchedSetaffinity(thread, &rest)
		}
	}
	return started
}
