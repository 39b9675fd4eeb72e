package deathsig

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLivesOnWhenThreadsEnd ends the threads that existed when the child was started.
func TestLivesOnWhenThreadsEnd(t *testing.T) {
	var children []*exec.Cmd
	for range 8 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			child := exec.Command("sleep", "60")
			if err := Start(child); err != nil {
				t.Error(err)
				return
			}
			children = append(children, child)
		}()
		<-ended
	}
	time.Sleep(100 * time.Millisecond)
	for _, child := range children {
		if !alive(strconv.Itoa(child.Process.Pid)) {
			t.Errorf("child %d was killed", child.Process.Pid)
		}
		_ = child.Process.Kill()
		_ = child.Wait()
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// TestEndsWithTheProcess kills a process that has started a child.
func TestEndsWithTheProcess(t *testing.T) {
	if os.Getenv("DEATHSIG_PARENT") != "" {
		child := exec.Command("sleep", "60")
		if err := Start(child); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString(strconv.Itoa(child.Process.Pid) + "\n"); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		return
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestEndsWithTheProcess$")
	parent.Env = append(os.Environ(), "DEATHSIG_PARENT=1")
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for range 50 {
		if !alive(strings.TrimSpace(line)) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%s lives on", line)
}

// TestErrorsAreThoseOfStart starts a program that does not exist.
func TestErrorsAreThoseOfStart(t *testing.T) {
	if err := Start(exec.Command("/nonexistent")); err == nil {
		t.Error("started")
	}
}
