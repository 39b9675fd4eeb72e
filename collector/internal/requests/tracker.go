package requests

import (
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
	"github.com/jitterscope/jitterscope/collector/internal/http2head"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
)

const (
	// MaxTimed is how many servers have series.
	MaxTimed        = 128
	historyCapacity = 49152 // 8 s at 6,100 requests/s
)

// Tracker counts and times the requests of servers. Sample neither allocates nor blocks; the other methods are for the
// slow path. All of them lock.
type Tracker struct {
	mu         priority.Mutex
	programs   *Programs
	ended      pending[bpf.RequestsRequest]
	clock      bpf.Clock
	servers    [Places]*Server
	generation uint32
	history    *exchanges.History
	calls      calls
	tick       uint32 // number of the last tick, by the wall clock
	nowNS      int64
	lost       func() uint64 // requests and calls that did not fit into a ring
	wasLost    uint64
	lossy      bool // requests were lost since Flush
	finished   uint64
}

// NewTracker creates a Tracker. ordinary keeps threads of the slow path from taking real-time priority.
func NewTracker(programs *Programs, ordinary bool) *Tracker {
	t := &Tracker{
		programs: programs, history: exchanges.NewHistory(historyCapacity), lost: programs.Lost,
		ended: pending[bpf.RequestsRequest]{take: programs.next, ended: func(r *bpf.RequestsRequest) uint64 { return r.EndedNs }},
		calls: newCalls(programs.nextCall),
	}
	t.mu.Ordinary = ordinary
	return t
}

// Sample records the ticks up to the one that ends at endUS; missed of them were not sampled before.
func (t *Tracker) Sample(endUS int64, missed int, recorder Recorder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clock.Set()
	t.programs.setClock(&t.clock)
	for back := min(missed, batch.Lag); back >= 0; back-- {
		t.close(back, endUS-int64(back)*batch.StepUS, recorder)
	}
}

// close closes the tick that ends at endUS.
func (t *Tracker) close(back int, endUS int64, recorder Recorder) {
	t.nowNS = endUS * 1000
	tick := uint32(endUS/batch.StepUS - 1)
	// Additions to the previous tick during its read are found in the next round.
	first := t.tick
	if tick-first >= ticks {
		first = tick - ticks + 1
	}
	for _, server := range t.servers {
		if server != nil {
			t.takeCame(server, first, tick)
			server.choose(tick, &t.programs.counts[server.number].Shift)
		}
	}
	t.tick = tick
	for request := t.ended.next(&t.clock, t.nowNS); request != nil; request = t.ended.next(&t.clock, t.nowNS) {
		t.take(request)
	}
	t.closeCalls(back, endUS, recorder)
	for _, server := range t.servers {
		if server == nil || server.counted == nil {
			continue
		}
		c := server.counted
		if atNS, asked := c.kept.TakeSlow(t.nowNS); asked != exchanges.Nothing {
			recorder.Trigger(c.kept.Resource, "slow_request", atNS/1000)
			if asked == exchanges.Slower {
				recorder.Trigger(c.kept.Resource, "slower_request", atNS/1000)
			}
		}
		if recorder.Throttled(c.throttled) {
			c.kept.WantTick(t.nowNS)
		}
		c.connections.ask(server, t.nowNS, c.kept.Resource, recorder)
		c.record(back, endUS, server, recorder)
	}
}

// takeCame reads how many requests arrived in the ticks from first to last.
func (t *Tracker) takeCame(server *Server, first, last uint32) {
	counts := &t.programs.counts[server.number]
	came, passed := uint32(0), uint32(0)
	for tick := first; tick-first <= last-first; tick++ {
		slot := tick % ticks
		done := atomic.LoadUint32(&counts.Passed[slot]) // first: none has ended that has not come
		now := atomic.LoadUint32(&counts.Came[slot])
		fresh, finished := now-server.readCame[slot], done-server.readPassed[slot]
		server.readCame[slot], server.readPassed[slot] = now, done
		if tick != first {
			server.open[slot] = 0 // of an old tick: requests still open are no longer waited for
		}
		server.open[slot] = max(0, server.open[slot]+int32(fresh)-int32(finished)) // less than 0 after a clock step
		came += fresh
		passed += finished
	}
	lost := atomic.LoadUint32(&counts.Lost)
	gone := lost - server.readLost
	server.readLost = lost
	server.came += uint64(came)
	server.ended += uint64(gone) + uint64(passed)
	t.finished += uint64(passed)
	server.recent += uint64(came)
	server.queued = max(server.queued, atomic.SwapUint32(&counts.Queued, 0))
	t.lossy = t.lossy || gone > 0
	if c := server.counted; c != nil {
		c.requests += came
		c.responses += gone + passed // nearly all that end are answered; only the ring knew when
	}
}

// take counts a finished request.
func (t *Tracker) take(request *bpf.RequestsRequest) {
	if request.Server >= Places {
		return
	}
	server := t.servers[request.Server]
	if server == nil || server.generation != request.Generation {
		return
	}
	if request.End == statusCame {
		if c := server.counted; c != nil {
			c.answered(http2head.Status(request.Status), 1)
			c.kinds.judge(request)
		}
		return
	}
	if request.End >= connected {
		if c := server.counted; c != nil {
			c.connections.take(request, t.clock.NS(request.EndedNs))
		}
		return
	}
	server.ended++
	t.finished++
	if slot := request.Tick % ticks; server.open[slot] > 0 && t.tick-request.Tick < ticks {
		server.open[slot]--
	}
	if request.End == withdrawn {
		return
	}
	cameNS := t.clock.NS(request.CameNs)
	record := exchanges.Record{
		SeenNS: cameNS, Name: exchanges.NoText, Client: t.history.Clients.Put(request.Client[:]),
		LatencyUS: microseconds(request.EndedNs - request.CameNs), Server: uint16(request.Server),
	}
	if request.ReadNs != 0 {
		record.HasWait, record.QueueWaitUS = true, microseconds(request.ReadNs-request.CameNs)
	}
	if request.End == abandoned {
		record.Result = exchanges.ResultTimeout
	}
	t.history.Put(record)
	if c := server.counted; c != nil {
		many := uint32(1) << (request.Shift & mostShift) // of those that are passed nothing else is known
		c.take(&record, many)
		if record.Result == exchanges.ResultNoError {
			c.answered(http2head.Status(request.Status), many)
			c.kinds.count(request, record.LatencyUS, many)
		}
	}
}

func (c *counted) take(record *exchanges.Record, many uint32) {
	slow := record.LatencyUS > catalogue.SlowUS
	if slow {
		many = 1 // all of them are reported
	}
	if record.HasWait {
		c.wait.ObserveMany(int64(record.QueueWaitUS), many)
	}
	c.kept.Ended(record.SeenNS, record.LatencyUS)
	if record.Result != exchanges.ResultNoError {
		c.abandoned++
		return
	}
	c.responses++
	if slow {
		c.slow++
	}
	c.latency.ObserveMany(int64(record.LatencyUS), many)
	c.maxUS = max(c.maxUS, int64(record.LatencyUS))
}

func microseconds(ns uint64) uint32 { return uint32(min(ns/1000, 1<<32-1)) }
