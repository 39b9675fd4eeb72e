package netns

import (
	"bufio"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// TestTheProcessStaysWhereItIs enters a namespace often enough to use every thread, including the main one.
func TestTheProcessStaysWhereItIs(t *testing.T) {
	inside := exec.Command("unshare", "--net", "sh", "-c", "echo ready && exec cat")
	stdin, err := inside.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := inside.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := inside.Start(); err != nil {
		testenv.Skip(t, "unshare: %v", err)
	}
	defer func() { _ = stdin.Close(); _ = inside.Wait() }()
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		testenv.Skip(t, "needs the right to make network namespaces")
	}
	own, err := ID("/proc", "self")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := ID("/proc", strconv.Itoa(inside.Process.Pid))
	if err != nil || theirs == own {
		t.Fatalf("%d, %v", theirs, err)
	}
	var wait sync.WaitGroup
	for range 200 {
		wait.Go(func() {
			if err := Do("/proc", inside.Process.Pid, func() error {
				if at, err := ID("/proc", "thread-self"); at != theirs || err != nil {
					t.Errorf("worked in %d instead of %d, %v", at, theirs, err)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if at, err := ID("/proc", "self"); at != own || err != nil {
		t.Errorf("the process is in %d instead of %d, %v", at, own, err)
	}
}
