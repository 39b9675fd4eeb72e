// Package gctrace follows GC cycles of Go processes from entry probes on functions of their runtime.
package gctrace

// Phase is the function that was entered; the order is that of goruntime.Phases.
type Phase uint8

const (
	CycleStart Phase = iota
	MarkTermination
	StopTheWorld
	StartTheWorld
)

// Reasons of a stop, the first argument of runtime.stopTheWorldWithSema since Go 1.21 (runtime/proc.go, stwReason).
const (
	reasonMarkTermination  = 1
	reasonSweepTermination = 2
)

// Moment is one entry of a probed function.
type Moment struct {
	TimeUS int64 // since the Unix epoch
	Phase  Phase
	Reason uint64 // of StopTheWorld
}

// Cycle is one finished GC cycle. PauseUS is the time in it during which the world was stopped.
type Cycle struct {
	StartUS, EndUS, PauseUS int64
}

// Tracker follows one process. Moments must be added in time order.
type Tracker struct {
	// KnowsReasons is set for Go 1.21 and newer: stops for other reasons are distinguished from those of the GC.
	KnowsReasons bool

	started     int64 // of the running cycle, 0: none
	terminating bool
	stopped     int64 // since when the GC has the world stopped, 0: it runs
	paused      int64 // in the running cycle
	countedFrom int64 // earlier time is in an earlier tick

	activeUS, pauseUS int64
	cycles            int
}

// Add adds a moment and returns the cycle that ended with it, if one did.
func (t *Tracker) Add(m Moment) (Cycle, bool) {
	switch m.Phase {
	case CycleStart:
		t.started, t.terminating, t.stopped, t.paused = m.TimeUS, false, 0, 0
	case MarkTermination:
		t.terminating = t.started != 0
	case StopTheWorld:
		if t.started != 0 && (!t.KnowsReasons || m.Reason == reasonMarkTermination || m.Reason == reasonSweepTermination) {
			t.stopped = m.TimeUS
		}
	case StartTheWorld:
		t.resume(m.TimeUS)
		if t.started != 0 && t.terminating {
			cycle := Cycle{StartUS: t.started, EndUS: m.TimeUS, PauseUS: t.paused}
			t.activeUS += m.TimeUS - max(t.started, t.countedFrom)
			t.cycles++
			t.started, t.terminating = 0, false
			return cycle, true
		}
	}
	return Cycle{}, false
}

func (t *Tracker) resume(now int64) {
	if t.stopped == 0 {
		return
	}
	t.pauseUS += now - max(t.stopped, t.countedFrom)
	t.paused += now - t.stopped
	t.stopped = 0
}

// Tick closes a tick at endUS: cycles that ended in it, and the time in it during which a cycle ran, finished or not,
// and during which the world was stopped. Every moment before endUS must have been added, and none after it.
func (t *Tracker) Tick(endUS int64) (cycles int, activeUS, pauseUS int64) {
	cycles, activeUS, pauseUS = t.cycles, t.activeUS, t.pauseUS
	if t.started != 0 && t.started < endUS {
		activeUS += endUS - max(t.started, t.countedFrom)
	}
	if t.stopped != 0 && t.stopped < endUS {
		pauseUS += endUS - max(t.stopped, t.countedFrom)
	}
	t.cycles, t.activeUS, t.pauseUS, t.countedFrom = 0, 0, 0, endUS
	return cycles, activeUS, pauseUS
}
