package sampler

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
)

const (
	ticksPerBatch   = 20                      // 2 s
	earlySealEvery  = 500 * time.Millisecond  // how often triggers can seal a batch early
	aftermath       = 1500 * time.Millisecond // what follows soon after a trigger is wanted soon too: how the stall ended
	journalHighMark = 0.6                     // seal early when the journal is fuller than this
	lateUS          = 10_000
	stalledUS       = 50_000 // so late that the node itself deserves a diagnosis
	stalledEvery    = 10 * time.Second
)

// loop is the sampling thread. It sleeps until deadlines of the real-time clock, so that ticks neither drift nor pile
// up: after a stall it continues with the latest tick that has ended, and the ones in between stay missing.
func (e *Engine) loop(ctx context.Context) {
	runtime.LockOSThread() // never unlocked: the thread ends with its priority
	e.raisePriority()

	var state loopState
	recorder := newRecorder(e.store)
	for {
		deadline := (nowUS()/batch.StepUS + 1) * batch.StepUS
		waits, asleep := time.Duration(deadline-nowUS())*time.Microsecond, time.Now()
		SleepUntil(deadline)
		// Setting the clock does not change the monotonic time that the sleep took.
		latency := time.Since(asleep) - waits
		if ctx.Err() != nil {
			return
		}
		now := nowUS()
		if now < deadline-batch.StepUS {
			e.log.Warn("the clock was set back; ticks can repeat", "seconds", float64(deadline-now)/1e6)
			state.last = 0
		}
		number := now/batch.StepUS - 1
		if state.last != 0 && number <= state.last {
			continue // the clock went back a little: wait until it is past what is recorded
		}
		e.tick(&state, number, now, latency, recorder)
	}
}

func (e *Engine) raisePriority() {
	if e.config.OrdinaryPriority {
		priority.Nice()
	} else {
		priority.Raise()
	}
}

// loopState is the state of the sampling thread between ticks.
type loopState struct {
	last      int64 // number of the last sampled tick, 0: none
	sequence  uint64
	early     time.Time // when a trigger last sealed a batch
	trigger   time.Time // time of the last trigger
	stalled   time.Time
	triggered bool
}

// tick samples one tick; latency is how long after its deadline the thread woke up.
func (e *Engine) tick(state *loopState, number, now int64, latency time.Duration, recorder *Recorder) {
	woke := time.Now()
	tick := Tick{StartUS: number * batch.StepUS, LatencyUS: -1, Shed: e.budget.level()}
	if priority.IsRealtime() {
		tick.LatencyUS = max(0, latency.Microseconds())
	}
	if state.last != 0 {
		tick.Missed = int(number - state.last - 1)
	}
	if !e.store.Fits(number) || (state.last == 0 && state.sequence > 0) {
		e.rotate(state, number) // after a long stall or a clock step
	}
	state.sequence++
	tick.Sequence = state.sequence
	state.last = number
	room := e.store.Begin(number)
	e.sampling.Lock()
	began := time.Since(woke).Microseconds()
	tick.LatenessUS = now + began - tick.EndUS()
	recorder.begin(tick)
	for _, r := range e.running {
		if room && !r.failed {
			e.sample(r, tick, recorder)
		}
	}
	e.sampling.Unlock()
	tick = recorder.tick
	e.count(tick)
	if !room {
		return
	}
	e.stats.SampleUS.Add(uint64(time.Since(woke).Microseconds() - began))
	if (tick.Missed > 0 || tick.LatenessUS > stalledUS) && time.Since(state.stalled) > stalledEvery {
		state.stalled = time.Now()
		recorder.Trigger(batch.Node, "late_tick", tick.StartUS)
	}
	recorder.commit()
	if e.store.TakeTriggered() {
		state.triggered, state.trigger = true, time.Now()
	}
	ticks, journal := e.store.Fill()
	wanted := state.triggered || time.Since(state.trigger) < aftermath
	early := wanted && time.Since(state.early) >= earlySealEvery
	if early || journal > journalHighMark || ticks >= ticksPerBatch || (number+1)%ticksPerBatch == 0 {
		if e.rotate(state, number+1) && early {
			state.early = time.Now()
		}
	}
}

// rotate seals the open batch; it returns false if the sealer is behind, and the next tick tries again.
func (e *Engine) rotate(state *loopState, first int64) bool {
	sealed, err := e.store.Rotate(first)
	if err != nil {
		return false
	}
	state.triggered = false
	e.config.Sealed(sealed)
	return true
}

func (e *Engine) count(tick Tick) {
	e.stats.Ticks.Add(1)
	e.stats.MissedTicks.Add(uint64(tick.Missed))
	if tick.LatenessUS > lateUS {
		e.stats.LateTicks.Add(1)
	}
	e.stats.LastTickUS.Store(tick.EndUS())
	storeMax(&e.stats.LatenessMaxUS, tick.LatenessUS)
}

func storeMax(target *atomic.Int64, value int64) {
	if value > target.Load() { // one writer
		target.Store(value)
	}
}

func nowUS() int64 { return time.Now().UnixMicro() }

// SleepUntil sleeps until a time of the real-time clock, at most two ticks ahead. The sleep itself uses the monotonic
// clock: with the real-time clock it would take longer by as much as that is set back in the meantime
// (clock_nanosleep(2), TIMER_ABSTIME).
func SleepUntil(us int64) {
	for {
		left := leftUntil(us, nowUS())
		if left == 0 {
			return
		}
		var monotonic unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) != nil {
			return
		}
		deadline := unix.NsecToTimespec(monotonic.Nano() + left*1000)
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &deadline, nil) == unix.EINTR {
		}
	}
}

// leftUntil is the µs to sleep; 0 once the time is reached, or if it is so far away that the clock must have been set
// back.
func leftUntil(us, now int64) int64 {
	if left := us - now; left > 0 && left <= 2*batch.StepUS {
		return left
	}
	return 0
}
