package priority

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Mutex is a lock that a thread with raised priority takes too. While an ordinary thread holds it, that thread has the
// raised priority: on a busy node it would otherwise lose its CPU for tens of milliseconds, with the sampling thread
// waiting for it (L. Sha, R. Rajkumar and J. P. Lehoczky, Priority Inheritance Protocols, IEEE Transactions on
// Computers 39(9), 1990: the priority ceiling). Hold it briefly, and unlock it in the goroutine that locked it.
type Mutex struct {
	mutex  sync.Mutex
	raised bool // its holder's priority is raised

	// Ordinary leaves threads as they are. Set it before the first use.
	Ordinary bool
}

// Lock locks it. It does not allocate.
func (m *Mutex) Lock() {
	raised := !m.Ordinary && raise()
	m.mutex.Lock()
	m.raised = raised
}

// Unlock unlocks it.
func (m *Mutex) Unlock() {
	raised := m.raised
	m.mutex.Unlock()
	if raised {
		set(unix.SCHED_NORMAL, 0)
		runtime.UnlockOSThread()
	}
}

// The first pause is usually long enough to be asleep before it ends; on a busy or virtual machine it may not be.
const (
	pauseNS = 20_000
	pauses  = 4
	longer  = 4 // times the one before
)

// raise gives the calling thread real-time priority if it has none.
//
// The kernel counts how long a thread has run at real-time priority since it last woke up with it (RLIMIT_RTTIME), and
// continues that count when the thread is raised again: after many short periods the kernel would treat it as one that
// never stops. So each period begins with a wake-up.
func raise() bool {
	runtime.LockOSThread()
	if isOrdinary() && set(unix.SCHED_RR|resetOnFork, 1) {
		slept := Sleeps()
		for pause, left := int64(pauseNS), pauses; left > 0 && Sleeps() == slept; pause, left = longer*pause, left-1 {
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &unix.Timespec{Nsec: pause}, nil)
		}
		return true
	}
	runtime.UnlockOSThread()
	return false
}

// Sleeps is how often the calling thread has given up its CPU by itself.
func Sleeps() int64 {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &used)
	return used.Nvcsw
}
