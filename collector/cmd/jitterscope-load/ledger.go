package main

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ledger records the outcome of every query or request of a plan, in the order sent.
type ledger struct {
	sentNs   []int64
	delayNs  []int64 // sent minus planned
	answerNs []int64 // 0: none yet
	code     []uint8
	count    int
	wireNs   int64 // from the clock reading before a send to the loopback device
	refused  int   // sends that the kernel refused
	stray    atomic.Int64
}

func newLedger(capacity int) ledger {
	return ledger{
		sentNs: make([]int64, 0, capacity), delayNs: make([]int64, 0, capacity),
		answerNs: make([]int64, capacity), code: make([]uint8, capacity),
	}
}

func (l *ledger) book() *ledger { return l }

// pace calls send for each entry of the plan when it is due, from one thread, regardless of the outcome of earlier
// ones.
func (l *ledger) pace(p *plan, send func(i int, plannedNs int64) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The default 50 µs of timer slack would show in the pacing.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	walk := schedule{plan: p}
	offset := monotonicNs() - time.Now().UnixNano() // plan times are wall clock, sleeping is monotonic
	for i := 0; ; i++ {
		at, ok := walk.next()
		if !ok || i >= cap(l.sentNs) {
			l.count = len(l.sentNs)
			return nil
		}
		planned := p.startNs + at
		if err := sleepUntil(planned + offset); err != nil {
			return err
		}
		if err := send(i, planned); err != nil {
			return err
		}
	}
}

// sent records the next entry, whose send call begins now.
func (l *ledger) sent(nowNs, plannedNs int64) {
	l.sentNs = append(l.sentNs, nowNs+l.wireNs)
	l.delayNs = append(l.delayNs, nowNs-plannedNs)
}

// answered records the answer to the i-th entry, which the kernel received at receivedNs.
func (l *ledger) answered(i int, code uint8, receivedNs int64) {
	l.code[i] = code
	atomic.StoreInt64(&l.answerNs[i], receivedNs)
}

// awaitAnswers waits until everything sent has been answered or has timed out.
func (l *ledger) awaitAnswers(timeout time.Duration) {
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline) && !l.allAnswered(); {
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *ledger) allAnswered() bool {
	for i := l.count - 1; i >= 0; i-- {
		if atomic.LoadInt64(&l.answerNs[i]) == 0 {
			return false
		}
	}
	return true
}
