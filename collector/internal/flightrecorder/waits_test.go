package flightrecorder

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// waitEnvironment makes the test binary a program whose threads wait.
const waitEnvironment = "JITTERSCOPE_TEST_WAIT"

const waiters = 5

// waitForever starts threads that wait, says so, and waits too.
func waitForever(how string) {
	word := new(uint32)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		panic(err)
	}
	for range waiters {
		go func() {
			runtime.LockOSThread()
			_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(unsafe.StringData("waiter\x00"))), 0, 0, 0)
			forever := unix.Timespec{Sec: 3600}
			switch how {
			case "futex":
				_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), 0, 0, uintptr(unsafe.Pointer(&forever)), 0, 0)
			case "sleep":
				_, _, _ = unix.Syscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&forever)), 0, 0)
			case "recv":
				_, _, _ = unix.Syscall6(unix.SYS_RECVFROM, uintptr(pair[0]), uintptr(unsafe.Pointer(word)), 1, 0, 0, 0)
			case "run":
				for atomic.LoadUint32(word) == 0 {
				}
			}
		}()
	}
	time.Sleep(100 * time.Millisecond) // they are in their system calls
	fmt.Println("waiting")
	select {}
}

// waiting starts a program whose threads wait.
func waiting(t *testing.T, how string) *exec.Cmd {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), waitEnvironment+"="+how)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return command
}

// TestWhatThreadsWaitIn looks at real threads.
func TestWhatThreadsWaitIn(t *testing.T) {
	for how, want := range map[string]struct {
		state byte
		call  string
		place string // part of it
	}{
		"futex": {'S', "futex", "futex"}, "sleep": {'S', "nanosleep", "nanosleep"}, "recv": {'S', "recvfrom", "unix_stream"},
		"run": {'R', "?", ""},
	} {
		t.Run(how, func(t *testing.T) {
			pid := waiting(t, how).Process.Pid
			w := NewWaits("/proc")
			found, threads := w.Look(pid, base)
			if w.Hidden() {
				testenv.Skip(t, "what threads wait in is not readable here")
			}
			if len(found) != threads || threads < waiters {
				t.Errorf("read %d of %d threads", len(found), threads)
			}
			matching := 0
			for _, each := range w.Count(nil, found) {
				if each.State == want.state && each.Call == want.call && strings.Contains(each.Place, want.place) {
					matching += each.Count
				}
			}
			// A thread that runs can also be seen in the kernel, and Go stops it now and then.
			if least := map[bool]int{true: 1, false: waiters}[how == "run"]; matching < least {
				t.Errorf("%d threads wait as they should: %+v", matching, w.Count(nil, found))
			}
		})
	}
}

func TestStoppedThreads(t *testing.T) {
	command := waiting(t, "futex")
	if err := command.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	w := NewWaits("/proc")
	found, _ := w.Look(command.Process.Pid, base)
	for _, each := range w.Count(nil, found) {
		if each.State != 'T' || (each.Place != "do_signal_stop" && !w.Hidden()) {
			t.Errorf("%+v", each)
		}
	}
	if len(found) < waiters {
		t.Errorf("%d threads", len(found))
	}
}

// TestStackWhereTheCallDoesNotTell needs CAP_SYS_ADMIN.
func TestStackWhereTheCallDoesNotTell(t *testing.T) {
	if os.Getuid() != 0 {
		testenv.Skip(t, "kernel stacks need root")
	}
	w := NewWaits("/proc")
	found, _ := w.Look(waiting(t, "recv").Process.Pid, base)
	deep := false
	for _, each := range w.Count(nil, found) {
		deep = deep || slices.Contains(each.Stack, "unix_stream_recvmsg")
	}
	if !deep {
		t.Errorf("%+v", w.Count(nil, found))
	}
}

func TestWaitsAreInTheCapture(t *testing.T) {
	command := waiting(t, "recv")
	r := New("/proc", "/sys")
	w := r.Waits()
	for round := range int64(3) {
		found, _ := w.Look(command.Process.Pid, base+round*50_000)
		from := w.Keep(found)
		if round == 2 { // the server had answered already
			w.Drop(from, len(found))
		}
	}
	capture := r.Capture(base, base+sliceUS, NewSymbols("/proc"))
	threads := map[uint32]int{}
	for i, offset := range capture.WaitOffsetUs {
		if offset > 50_000 || int(capture.Processes[capture.WaitProcess[i]].Pid) != command.Process.Pid {
			t.Fatalf("a thread at %d us", offset)
		}
		if capture.Strings[capture.WaitName[i]] != "waiter" {
			continue
		}
		threads[capture.WaitThread[i]]++
		if capture.WaitState[i] != 'S' || capture.Strings[capture.WaitCall[i]] != "recvfrom" {
			t.Errorf("state %c in %q", rune(capture.WaitState[i]), capture.Strings[capture.WaitCall[i]])
		}
		if stack := capture.WaitStack[i]; os.Getuid() == 0 && !has(capture, capture.Stacks[stack-1].Kernel, "unix_stream_recvmsg") {
			t.Errorf("stack %d", stack)
		}
	}
	if len(threads) != waiters {
		t.Errorf("%d threads waited: %v", len(threads), threads)
	}
	for thread, times := range threads {
		if times != 2 {
			t.Errorf("thread %d was seen %d times", thread, times)
		}
	}
}

// TestLookDoesNotAllocate: it happens while a server stalls.
func TestLookDoesNotAllocate(t *testing.T) {
	pid := waiting(t, "recv").Process.Pid
	w := NewWaits("/proc")
	counts := make([]WaitCount, 0, WaitThreads)
	look := func() {
		found, _ := w.Look(pid, base)
		w.Keep(found)
		counts = w.Count(counts[:0], found)
	}
	look()
	if allocations := testing.AllocsPerRun(200, look); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestWaitsAreBounded(t *testing.T) {
	w := NewWaits("/nonexistent")
	for i := range 3 * textsMost {
		if w.texts.full() {
			w.texts, w.first = newTexts(), w.next
		}
		w.Keep([]Wait{{us: base + int64(i), pid: 1, name: w.texts.put(fmt.Appendf(nil, "thread-%d", i))}})
	}
	if len(w.texts.all) > textsMost {
		t.Errorf("%d texts", len(w.texts.all))
	}
	found := w.between(base, base+sliceUS)
	if len(found) == 0 || len(found) > waitsSent {
		t.Fatalf("%d entries", len(found))
	}
	for _, each := range found {
		if each.name != fmt.Sprintf("thread-%d", each.us-base) {
			t.Fatalf("%d us: %q", each.us-base, each.name)
		}
	}
}

func TestWorkersAreLookedAtToo(t *testing.T) {
	shell := exec.Command("sh", "-c", "(sleep 60) & (exec sleep 60) & echo ready; wait")
	output, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(-shell.Process.Pid, unix.SIGKILL); _ = shell.Wait() })
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	w := NewWaits("/proc")
	found, _ := w.Look(shell.Process.Pid, base)
	for _, each := range found {
		if name := w.texts.all[each.name]; name != "sh" {
			t.Errorf("a thread of %q", name)
		}
	}
	if len(found) < 1 {
		t.Error("nothing was read")
	}
}

func BenchmarkLook(b *testing.B) {
	w := NewWaits("/proc")
	for b.Loop() {
		found, _ := w.Look(os.Getpid(), base)
		w.Keep(found)
	}
}
