package sampler

import (
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
)

// Recorder writes the values of the current tick. It is valid only inside Source.Sample, and none of its methods
// allocates.
type Recorder struct {
	store    *batch.Store
	tick     Tick
	readAt   time.Time
	sleeps   int64 // of the sampling thread until then
	triggers []trigger
}

type trigger struct {
	resource batch.ResourceID
	reason   string
	atUS     int64
}

func newRecorder(store *batch.Store) *Recorder {
	return &Recorder{store: store, triggers: make([]trigger, 0, 256)}
}

// begin starts a tick.
func (r *Recorder) begin(tick Tick) {
	r.tick, r.sleeps = tick, priority.Sleeps()
	r.readAt = time.Now()
}

// commit records the tick. It can wait for other threads, which is why nothing else does so before everything is read.
func (r *Recorder) commit() {
	for _, one := range r.triggers {
		r.store.AppendTrigger(one.resource, one.reason, one.atUS)
	}
	r.triggers = r.triggers[:0]
	r.store.Commit()
}

// Set writes a value of the current tick.
func (r *Recorder) Set(slot batch.Slot, value float64) { r.store.Set(slot, value) }

// SetAt writes a value of an earlier tick, 0 <= back <= batch.Lag, for sources that see events late. Write each tick of
// a series once.
func (r *Recorder) SetAt(back int, slot batch.Slot, value float64) { r.store.SetAt(back, slot, value) }

// Delta writes how much a counter grew since it was last read; see batch.Store.Delta for resets and missed ticks.
func (r *Recorder) Delta(slot batch.Slot, counter uint64) { r.store.Delta(slot, counter) }

// Value returns what the current tick holds for slot so far, NaN if nothing was written.
func (r *Recorder) Value(slot batch.Slot) float64 { return r.store.Value(slot) }

// Distribution records the histogram of an earlier tick (back as in SetAt). The caller resets it. Record each tick once.
func (r *Recorder) Distribution(back int, resource batch.ResourceID, metric uint32, histogram *batch.Histogram) {
	r.store.AppendDistribution(resource, metric, r.tick.StartUS/batch.StepUS-int64(back), histogram)
}

// standstill is much longer than reads take from one call of NoticeStandstill to the next: the thread did not run.
const standstill = time.Millisecond

// NoticeStandstill is called repeatedly while CPU time is read. If the thread did not run since the last call, what is
// read now is late by that time, too.
func (r *Recorder) NoticeStandstill() {
	now := time.Now()
	if stood := now.Sub(r.readAt); stood > standstill {
		r.tick.LatenessUS += stood.Microseconds()
		r.noticeLatency(stood)
	}
	r.readAt = now
}

// noticeLatency counts a standstill in which the thread was due. It was not if it waited for something itself.
func (r *Recorder) noticeLatency(stood time.Duration) {
	sleeps := priority.Sleeps()
	if r.tick.LatencyUS >= 0 && sleeps == r.sleeps {
		r.tick.LatencyUS += stood.Microseconds()
	}
	r.sleeps = sleeps
}

// LatenessUS is how long after the end of the tick CPU time was read, excluding the time that reading takes.
func (r *Recorder) LatenessUS() int64 { return r.tick.LatenessUS }

// LatencyUS is how long the sampling thread was due and did not run; -1 if it has no real-time priority.
func (r *Recorder) LatencyUS() int64 { return r.tick.LatencyUS }

// Trigger requests a diagnosis of resource now; ingest.v1 Trigger lists the reasons.
func (r *Recorder) Trigger(resource batch.ResourceID, reason string, atUS int64) {
	r.triggers = append(r.triggers, trigger{resource, reason, atUS})
}
