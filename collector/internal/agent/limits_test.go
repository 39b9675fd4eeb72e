package agent

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

func needsNice(t *testing.T) {
	t.Helper()
	if err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -1); err != nil {
		testenv.Skip(t, "needs CAP_SYS_NICE: %v", err)
	}
}

func TestAllThreadsAreRaised(t *testing.T) {
	needsNice(t)
	raiseThreads()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		thread, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		// The system call answers 20 minus the nice value.
		if got, err := unix.Getpriority(unix.PRIO_PROCESS, thread); err == nil && got != 30 {
			t.Errorf("thread %d of %d has nice %d", thread, len(tasks), 20-got)
		}
	}
}
