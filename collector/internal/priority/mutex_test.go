package priority

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

type counter struct {
	mutex Mutex
	value int
}

func (c *counter) increment() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.value++
}

func needsRealTime(t *testing.T) {
	t.Helper()
	if !raise() {
		testenv.Skip(t, "real-time priority is not allowed here")
	}
	set(unix.SCHED_NORMAL, 0)
	runtime.UnlockOSThread()
}

func TestHolderIsRaisedAndOrdinaryAgain(t *testing.T) {
	needsRealTime(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	nice := func() int {
		value, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	before := nice()
	var m Mutex
	m.Lock()
	if isOrdinary() {
		t.Error("the holder is ordinary")
	}
	m.Unlock()
	if !isOrdinary() || nice() != before {
		t.Errorf("after unlocking: ordinary %v, nice %d instead of %d", isOrdinary(), nice(), before)
	}
	m.Ordinary = true
	m.Lock()
	if !isOrdinary() {
		t.Error("raised although it may not be")
	}
	m.Unlock()
}

func TestRaisedThreadStaysSo(t *testing.T) {
	needsRealTime(t)
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		Raise()
		var passed counter
		passed.increment()
		done <- !isOrdinary()
	}()
	if !<-done {
		t.Error("a raised thread became ordinary by unlocking")
	}
}

func TestMutexExcludes(t *testing.T) {
	var c counter
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 2000 {
				c.increment()
			}
		})
	}
	wait.Wait()
	if c.value != 16000 {
		t.Errorf("counted %d", c.value)
	}
}

// TestManyShortTimesAreNoLongOne: the kernel's limit on real-time computing applies to each time a lock is held.
func TestManyShortTimesAreNoLongOne(t *testing.T) {
	needsRealTime(t)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_RTTIME, &before); err != nil {
		t.Fatal(err)
	}
	exceeded := make(chan os.Signal, 1)
	signal.Notify(exceeded, unix.SIGXCPU)
	defer signal.Stop(exceeded)
	limit := unix.Rlimit{Cur: uint64((50 * time.Millisecond).Microseconds()), Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_RTTIME, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_RTTIME, &before) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var m Mutex
	for range 300 { // 0.6 s of computing in total
		m.Lock()
		for began := time.Now(); time.Since(began) < 2*time.Millisecond; {
		}
		m.Unlock()
	}
	select {
	case <-exceeded:
		t.Error("taken for a thread that runs on and on")
	default:
	}
}

func TestLockDoesNotAllocate(t *testing.T) {
	var c counter
	if n := testing.AllocsPerRun(1000, c.increment); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMutex(b *testing.B) {
	var c counter
	for b.Loop() {
		c.increment()
	}
}
