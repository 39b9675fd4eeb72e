package requests

import (
	"math/bits"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
)

const (
	// MaxUpstreams is how many upstreams have series.
	MaxUpstreams = 128
	maxUnknown   = 64 // upstreams seen since Unknown was called
)

// Remote is a server as called by a cgroup.
type Remote struct {
	Caller uint32 // number of the cgroup, see SetCallers
	dnswire.Endpoint
}

// Called is an upstream without series, and how it was reached.
type Called struct {
	Remote
	Namespace uint64 // inode of the caller's network namespace
	Local     bool   // both ends of the connection have the same address
}

// Upstream is a server whose answers to a cgroup are timed.
type Upstream struct {
	remote  Remote
	number  int
	kept    exchanges.Server
	fromUS  int64 // earlier ticks are incomplete
	endedNS int64 // when the last call ended

	calls, slow, abandoned            uint32
	maxUS                             int64
	latency                           batch.Histogram
	callSlot, slowSlot, abandonedSlot batch.Slot
	maxSlot                           batch.Slot
}

// calls is the part of the Tracker that times the calls that servers make. The Tracker locks it.
type calls struct {
	pending   pending[bpf.RequestsCall]
	upstreams [MaxUpstreams]*Upstream
	byRemote  map[Remote]*Upstream
	unknown   []Called
	finished  uint64
}

func newCalls(take func() *bpf.RequestsCall) calls {
	return calls{
		pending:  pending[bpf.RequestsCall]{take: take, ended: func(c *bpf.RequestsCall) uint64 { return c.EndedNs }},
		byRemote: make(map[Remote]*Upstream, MaxUpstreams), unknown: make([]Called, 0, maxUnknown),
	}
}

// Unknown returns upstreams that have no series and were called since the last invocation.
func (t *Tracker) Unknown() []Called {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := slices.Clone(t.calls.unknown)
	t.calls.unknown = t.calls.unknown[:0]
	return found
}

// Follow gives an upstream series, on its own resource; nil if all places are taken.
func (t *Tracker) Follow(remote Remote, resource batch.ResourceID, series func(batch.ResourceID, uint32) batch.Slot) *Upstream {
	now := time.Now().UnixNano()
	u := &Upstream{
		remote: remote, kept: exchanges.NewServer(resource, now), endedNS: now,
		fromUS:   (now/1000/batch.StepUS + 1) * batch.StepUS,
		callSlot: series(resource, catalogue.UpstreamCalls), slowSlot: series(resource, catalogue.UpstreamCallsSlow),
		abandonedSlot: series(resource, catalogue.UpstreamUnanswered), maxSlot: series(resource, catalogue.UpstreamLatencyMaxUS),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for number, other := range t.calls.upstreams {
		if other == nil {
			u.number = number
			t.history.Watch(&u.kept)
			t.calls.upstreams[number], t.calls.byRemote[remote] = u, u
			return u
		}
	}
	return nil
}

// Unfollow forgets an upstream.
func (t *Tracker) Unfollow(u *Upstream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history.Forget(u.place())
	t.calls.upstreams[u.number] = nil
	delete(t.calls.byRemote, u.remote)
}

// Idle is how long an upstream has not been called.
func (t *Tracker) Idle(u *Upstream) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Duration(time.Now().UnixNano() - u.endedNS)
}

// Calls returns how many calls were timed.
func (t *Tracker) Calls() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls.finished
}

// place is the upstream's number in the history, where servers come first.
func (u *Upstream) place() uint16 { return uint16(Places + u.number) }

// closeCalls records the calls of the tick that ends at endUS.
func (t *Tracker) closeCalls(back int, endUS int64, recorder Recorder) {
	for call := t.calls.pending.next(&t.clock, t.nowNS); call != nil; call = t.calls.pending.next(&t.clock, t.nowNS) {
		t.takeCall(call)
	}
	for _, u := range t.calls.upstreams {
		if u != nil {
			u.kept.TakeSlow(t.nowNS)
			u.record(back, endUS, recorder)
		}
	}
}

func (t *Tracker) takeCall(call *bpf.RequestsCall) {
	t.calls.finished++
	remote := Remote{call.Caller, dnswire.Endpoint{Address: call.Server, Port: bits.ReverseBytes16(call.Port)}}
	u := t.calls.byRemote[remote]
	if u == nil {
		t.calls.meet(Called{remote, uint64(call.Namespace), call.From == call.Server})
		return
	}
	record := exchanges.Record{
		SeenNS: t.clock.NS(call.SentNs), Name: exchanges.NoText, Client: exchanges.NoText,
		LatencyUS: microseconds(call.EndedNs - call.SentNs), Server: u.place(),
	}
	if call.End == abandoned {
		record.Result = exchanges.ResultTimeout
	}
	t.history.Put(record)
	u.endedNS = t.clock.NS(call.EndedNs)
	u.take(&record)
}

func (c *calls) meet(called Called) {
	if len(c.unknown) < maxUnknown && !slices.Contains(c.unknown, called) {
		c.unknown = append(c.unknown, called)
	}
}

func (u *Upstream) take(record *exchanges.Record) {
	u.calls++
	u.kept.Ended(record.SeenNS, record.LatencyUS)
	if record.Result != exchanges.ResultNoError {
		u.abandoned++
		return
	}
	if record.LatencyUS > catalogue.SlowUS {
		u.slow++
	}
	u.latency.Observe(int64(record.LatencyUS))
	u.maxUS = max(u.maxUS, int64(record.LatencyUS))
}

func (u *Upstream) record(back int, endUS int64, recorder Recorder) {
	if endUS-batch.StepUS >= u.fromUS {
		recorder.SetAt(back, u.callSlot, float64(u.calls))
		recorder.SetAt(back, u.slowSlot, float64(u.slow))
		recorder.SetAt(back, u.abandonedSlot, float64(u.abandoned))
		if u.latency.Total() > 0 {
			recorder.SetAt(back, u.maxSlot, float64(u.maxUS))
			recorder.Distribution(back, u.kept.Resource, catalogue.UpstreamLatencyUS, &u.latency)
		}
	}
	u.calls, u.slow, u.abandoned, u.maxUS = 0, 0, 0, 0
	u.latency.Reset()
}
