package requests

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// world is a tracker whose programs are simulated, with one server, and a recorder that keeps everything. Times are in
// µs after base.
type world struct {
	t        *testing.T
	tracker  *Tracker
	server   *Server
	pending  []bpf.RequestsRequest
	calls    []bpf.RequestsCall
	offsetNS int64 // of the wall clock
	metrics  map[batch.Slot]uint32
	values   map[string]float64 // by tick and metric
	triggers []int64            // of slow requests
	others   []string
	sampling int64 // number of the tick being sampled
}

const baseTick = int64(18_000_000_000)

func newWorld(t *testing.T) *world {
	w := &world{t: t, metrics: make(map[batch.Slot]uint32), values: make(map[string]float64)}
	programs := &Programs{counts: make([]bpf.RequestsCounts, Places), wall: new(uint64)}
	w.tracker = NewTracker(programs, true)
	w.tracker.lost = func() uint64 { return 0 }
	w.tracker.calls.pending.take = func() *bpf.RequestsCall {
		if len(w.calls) == 0 {
			return nil
		}
		next := w.calls[0]
		w.calls = w.calls[1:]
		return &next
	}
	w.tracker.ended.take = func() *bpf.RequestsRequest {
		if len(w.pending) == 0 {
			return nil
		}
		next := w.pending[0]
		w.pending = w.pending[1:]
		return &next
	}
	w.tracker.clock.Set()
	w.offsetNS = w.tracker.clock.NS(0)
	w.server = w.add(1)
	return w
}

func (w *world) add(resource batch.ResourceID) *Server {
	server, err := w.tracker.Add()
	if err != nil {
		w.t.Fatal(err)
	}
	w.tracker.Time(server, resource, func(_ batch.ResourceID, metric uint32) batch.Slot {
		slot := batch.Slot(len(w.metrics) + 1)
		w.metrics[slot] = metric
		return slot
	})
	server.counted.fromUS = 0
	return server
}

func (w *world) SetAt(back int, slot batch.Slot, value float64) {
	w.values[fmt.Sprint(w.sampling-int64(back), "/", w.metrics[slot])] = value
}

func (w *world) Distribution(back int, _ batch.ResourceID, metric uint32, h *batch.Histogram) {
	w.values[fmt.Sprint(w.sampling-int64(back), "/", metric)] = float64(h.Total())
}

func (w *world) Trigger(_ batch.ResourceID, reason string, atUS int64) {
	if reason != "slow_request" {
		w.others = append(w.others, reason)
		return
	}
	w.triggers = append(w.triggers, atUS-baseTick*batch.StepUS)
}

func (w *world) Throttled([]batch.Slot) bool { return false }

// come counts a request, as the programs do, and returns the tick.
func (w *world) come(atUS int64) uint32 {
	tick := uint32(baseTick + atUS/batch.StepUS)
	w.tracker.programs.counts[w.server.number].Came[tick%ticks]++
	return tick
}

// finish ends a request that arrived at one time at another time.
func (w *world) finish(tick uint32, cameUS, readUS, endedUS int64, end uint8) {
	monotonic := func(us int64) uint64 { return uint64((baseTick*batch.StepUS+us)*1000 - w.offsetNS) }
	w.pending = append(w.pending, bpf.RequestsRequest{
		CameNs: monotonic(cameUS), ReadNs: monotonic(readUS), EndedNs: monotonic(endedUS), Tick: tick, End: end,
		Server: w.server.number, Generation: w.server.generation, Client: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1},
	})
}

// exchange is a request and its answer.
func (w *world) exchange(cameUS, latencyUS int64) {
	w.finish(w.come(cameUS), cameUS, cameUS+latencyUS/2, cameUS+latencyUS, answered)
}

// sample samples a tick by its number from 0; the clock keeps its first reading.
func (w *world) sample(tick int64, missed int) {
	w.sampling = tick
	w.tracker.mu.Lock()
	defer w.tracker.mu.Unlock()
	for back := min(missed, batch.Lag); back >= 0; back-- {
		w.tracker.close(back, (baseTick+tick-int64(back)+1)*batch.StepUS, w)
	}
}

func (w *world) expect(tick int64, metric uint32, want float64) {
	w.t.Helper()
	if got, ok := w.values[fmt.Sprint(tick, "/", metric)]; !ok || got != want {
		w.t.Errorf("tick %d: metric %d is %v (%v) instead of %v", tick, metric, got, ok, want)
	}
}

func TestRequestsBelongToTheirTick(t *testing.T) {
	w := newWorld(t)
	w.exchange(10_000, 1_000)
	w.exchange(90_000, 15_000) // answered in the next tick, before this one is sampled
	w.sample(0, 0)
	w.sample(1, 0)
	for tick, want := range [][3]float64{{2, 1, 1}, {0, 1, 0}} {
		w.expect(int64(tick), catalogue.Requests, want[0])
		w.expect(int64(tick), catalogue.Responses, want[1])
		w.expect(int64(tick), catalogue.RequestsInflight, want[2])
	}
	w.expect(1, catalogue.RequestLatencyMaxUS, 15_000)
	w.expect(1, catalogue.RequestWaitUS, 1)
	if len(w.triggers) != 0 {
		t.Error("nothing was slow")
	}
}

func TestKindsAreCountedAndBounded(t *testing.T) {
	w := newWorld(t)
	ask := func(head string, class uint8, latencyUS int64) {
		w.exchange(10_000, latencyUS)
		request := &w.pending[len(w.pending)-1]
		request.Status, request.HeadLength = class, uint8(copy(request.Head[:], head))
	}
	ask("GET /users/1 HTTP/1.1", 2, 1_000)
	ask("GET /users/2?x=y HTTP/1.1", 5, 30_000)
	ask("\x16\x03\x01", 0, 1_000)
	ask("", 0, 1_000)
	for letter := range 40 {
		ask("GET /"+strings.Repeat("g", 1+letter%10)+string(rune('h'+letter/10))+" HTTP/1.1", 4, 2_000)
	}
	w.sample(0, 0)
	w.sample(1, 0)
	var kinds Kinds
	if !w.tracker.TakeKinds(w.server, 7_000_000, &kinds) {
		t.Fatal("nothing was counted")
	}
	if len(kinds.Rows) != MaxKinds+1 || kinds.ToUS != 7_000_000 {
		t.Fatalf("%d rows until %d", len(kinds.Rows), kinds.ToUS)
	}
	if users := kinds.Rows[0]; users.Text() != "GET /users/{id}" || users.Count != 2 || users.ServErrs != 1 || users.Slow != 1 || users.SumUS != 31_000 || users.MaxUS != 30_000 {
		t.Errorf("%s: %+v", users.Text(), users)
	}
	// 1.04^177 is 1,035 and 1.04^264 is 31,366: the ends of the buckets that hold 1 and 30 ms.
	if latency := kinds.Rows[0].Latency; latency[177/Coarse] != 1 || latency[264/Coarse] != 1 {
		t.Errorf("latencies by bucket: %v", latency)
	}
	if rest := kinds.Rows[MaxKinds]; rest.Text() != "" || rest.Count != 41-MaxKinds || rest.ClientErrs != 41-MaxKinds {
		t.Errorf("others: %+v", rest)
	}
	if w.tracker.TakeKinds(w.server, 8_000_000, &kinds) {
		t.Error("it was taken twice")
	}
}

func TestMissedTicksAreFilled(t *testing.T) {
	w := newWorld(t)
	w.sample(0, 0)
	for tick := int64(1); tick <= 4; tick++ {
		for i := range tick {
			w.exchange(tick*100_000+i*10_000, 1_000)
		}
	}
	w.sample(4, 3)
	for tick := int64(1); tick <= 4; tick++ {
		w.expect(tick, catalogue.Requests, float64(tick))
		w.expect(tick, catalogue.Responses, float64(tick))
		w.expect(tick, catalogue.RequestsInflight, 0)
	}
	// After a long stall the totals are still right.
	for tick := int64(5); tick <= 90; tick++ {
		w.exchange(tick*100_000, 1_000)
	}
	w.sample(90, 85)
	w.expect(90, catalogue.RequestsInflight, 0)
	sum := 0.0
	for tick := int64(5); tick <= 90; tick++ {
		sum += w.values[fmt.Sprint(tick, "/", catalogue.Requests)]
	}
	if sum != 86 {
		t.Errorf("%v requests of 86", sum)
	}
}

func TestHowRequestsEnd(t *testing.T) {
	w := newWorld(t)
	w.exchange(0, 1_000)
	w.finish(w.come(1_000), 1_000, 2_000, 40_000, abandoned)
	w.finish(w.come(2_000), 2_000, 3_000, 4_000, withdrawn)
	w.come(3_000) // stays open
	w.sample(0, 0)
	w.expect(0, catalogue.Requests, 4)
	w.expect(0, catalogue.Responses, 1)
	w.expect(0, catalogue.RequestsUnanswered, 1)
	w.expect(0, catalogue.RequestsInflight, 1)
	w.expect(0, catalogue.RequestLatencyUS, 1)
	if !slices.Equal(w.triggers, []int64{1_000}) {
		t.Errorf("triggers at %v", w.triggers)
	}
	// The last answer did not fit into the ring.
	w.tracker.programs.counts[w.server.number].Lost++
	w.sample(1, 0)
	w.expect(1, catalogue.Responses, 1)
	w.expect(1, catalogue.RequestsInflight, 0)
}

func TestAPlaceIsGivenAgain(t *testing.T) {
	w := newWorld(t)
	tick := w.come(0)
	w.sample(0, 0)
	former := *w.server
	w.tracker.Remove(w.server)
	w.server = w.add(2)
	if w.server.number != former.number || w.server.generation == former.generation {
		t.Fatalf("%+v after %+v", w.server.place, former.place)
	}
	w.finish(tick, 0, 1_000, 110_000, answered)
	w.pending[0].Generation = former.generation
	w.exchange(120_000, 1_000)
	w.sample(1, 0)
	w.expect(1, catalogue.Requests, 1)
	w.expect(1, catalogue.Responses, 1)
	w.expect(1, catalogue.RequestsInflight, 0)
}

// TestWindowsWaitForWhatIsOpen: a window is complete up to the oldest request without an answer.
func TestWindowsWaitForWhatIsOpen(t *testing.T) {
	w := newWorld(t)
	w.server.counted.kept = newCounted(1, baseTick*batch.StepUS*1000, func(batch.ResourceID, uint32) batch.Slot { return 0 }).kept
	w.exchange(10_000, 30_000)
	var open uint32
	var complete, rows int64
	flush := func() {
		for _, block := range w.tracker.Flush() {
			if block.Queries.Complete {
				complete = block.Queries.EndUs - baseTick*batch.StepUS
			}
			rows += int64(len(block.Queries.OffsetUs))
		}
	}
	for tick := range int64(10) {
		if tick == 2 {
			open = w.come(250_000)
		}
		w.exchange(tick*100_000+50_000, 1_000)
		w.sample(tick, 0)
		flush()
	}
	if complete != 200_000 || rows != 3 {
		t.Errorf("complete up to %d us with %d requests, while one of the third tick is open", complete, rows)
	}
	w.finish(open, 250_000, 260_000, 1_050_000, answered)
	w.sample(10, 0)
	flush()
	if complete != 1_100_000 || rows != 12 {
		t.Errorf("complete up to %d us with %d requests", complete, rows)
	}
	if !slices.Equal(w.triggers, []int64{10_000, 250_000}) {
		t.Errorf("triggers at %v", w.triggers)
	}
}

// call ends a call that was sent at one time at another time.
func (w *world) call(port uint16, sentUS, endedUS int64, end uint16) {
	monotonic := func(us int64) uint64 { return uint64((baseTick*batch.StepUS+us)*1000 - w.offsetNS) }
	w.calls = append(w.calls, bpf.RequestsCall{
		SentNs: monotonic(sentUS), EndedNs: monotonic(endedUS), End: end, Caller: 7, Namespace: 9, Port: bits.ReverseBytes16(port),
		Server: [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 1}, From: [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 2},
	})
}

func TestCallsBelongToTheTickInWhichTheyEnd(t *testing.T) {
	w := newWorld(t)
	w.call(5432, 10_000, 11_000, answered)
	w.call(5432, 20_000, 21_000, answered)
	w.call(6379, 30_000, 31_000, answered)
	w.sample(0, 0)
	unknown := w.tracker.Unknown()
	if len(unknown) != 2 || unknown[0].Port != 5432 || unknown[1].Port != 6379 || unknown[0].Caller != 7 || unknown[0].Local {
		t.Fatalf("upstreams %+v", unknown)
	}
	if again := w.tracker.Unknown(); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
	upstream := w.tracker.Follow(unknown[0].Remote, 2, func(_ batch.ResourceID, metric uint32) batch.Slot {
		slot := batch.Slot(len(w.metrics) + 1)
		w.metrics[slot] = metric
		return slot
	})
	upstream.fromUS, upstream.kept = 0, newCounted(2, baseTick*batch.StepUS*1000, func(batch.ResourceID, uint32) batch.Slot { return 0 }).kept
	w.call(5432, 90_000, 112_000, answered)
	w.call(5432, 120_000, 123_000, answered)
	w.call(5432, 130_000, 160_000, abandoned)
	w.call(5432, 190_000, 205_000, answered) // in the next tick
	w.sample(1, 0)
	for metric, want := range map[uint32]float64{
		catalogue.UpstreamCalls: 3, catalogue.UpstreamCallsSlow: 1, catalogue.UpstreamUnanswered: 1, catalogue.UpstreamLatencyMaxUS: 22_000,
		catalogue.UpstreamLatencyUS: 2,
	} {
		w.expect(1, metric, want)
	}
	w.sample(2, 0)
	w.expect(2, catalogue.UpstreamCalls, 1)
	for tick := int64(3); tick < 40; tick++ {
		w.sample(tick, 0)
	}
	rows := 0
	for _, block := range w.tracker.Flush() {
		if block.Server == 2 {
			rows += len(block.Queries.LatencyUs)
		}
	}
	if rows != 4 {
		t.Errorf("%d calls were sent around the slow one, of 4", rows)
	}
	w.tracker.Unfollow(upstream)
	w.call(5432, 4_010_000, 4_011_000, answered)
	w.sample(40, 0)
	if again := w.tracker.Unknown(); len(again) != 1 {
		t.Errorf("upstreams %+v", again)
	}
}

func TestUpstreamsAreBounded(t *testing.T) {
	w := newWorld(t)
	for port := range uint16(2 * maxUnknown) {
		w.call(port+1, 10_000, 11_000, answered)
	}
	w.sample(0, 0)
	if got := len(w.tracker.Unknown()); got != maxUnknown {
		t.Errorf("%d upstreams are told", got)
	}
	remote := func(port int) Remote { return Remote{1, dnswire.Endpoint{Port: uint16(port)}} }
	for port := range MaxUpstreams {
		if w.tracker.Follow(remote(port), 2, func(batch.ResourceID, uint32) batch.Slot { return 0 }) == nil {
			t.Fatalf("no place for number %d", port)
		}
	}
	if w.tracker.Follow(remote(MaxUpstreams), 2, func(batch.ResourceID, uint32) batch.Slot { return 0 }) != nil {
		t.Error("there is a place too many")
	}
}
