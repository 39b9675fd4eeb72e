package dnscapture

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// world is a tracker with one server at 10.0.0.53:53 and a recorder that keeps everything.
type world struct {
	t         testing.TB
	tracker   *Tracker
	server    *Server
	names     map[batch.Slot]string
	values    map[string][]float64 // by metric and resource
	triggers  int
	packet    Packet
	endUS     int64
	throttled bool
}

const baseUS = 1_800_000_000_000_000

func newWorld(t testing.TB) *world {
	w := &world{t: t, tracker: NewTracker(), names: make(map[batch.Slot]string), values: make(map[string][]float64), endUS: baseUS}
	slots := batch.Slot(0)
	series := func(resource batch.ResourceID, metric uint32) batch.Slot {
		slots++
		w.names[slots] = fmt.Sprintf("%d/%d", resource, metric)
		return slots
	}
	key := ServerKey{Endpoint: endpoint("10.0.0.53", 53)}
	w.server = NewServer(key, 1, 2, 3, baseUS*1000-1, series)
	if err := w.tracker.Add(w.server); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) SetAt(_ int, slot batch.Slot, value float64) {
	w.values[w.names[slot]] = append(w.values[w.names[slot]], value)
}

func (w *world) Distribution(_ int, resource batch.ResourceID, metric uint32, h *batch.Histogram) {
	if resource == 1 && metric == catalogue.DNSLatencyUS {
		w.values["distribution"] = append(w.values["distribution"], float64(h.Total()))
	}
}

func (w *world) Trigger(batch.ResourceID, string, int64) { w.triggers++ }

// tick closes the next tick.
func (w *world) tick() {
	w.endUS += batch.StepUS
	w.tracker.Tick(0, w.endUS, w, func(*Server) bool { return w.throttled })
}

func (w *world) last(metric uint32) float64 {
	values := w.values[fmt.Sprintf("1/%d", metric)]
	if len(values) == 0 {
		return math.NaN()
	}
	return values[len(values)-1]
}

func (w *world) expect(metric uint32, want float64) {
	w.t.Helper()
	if got := w.last(metric); got != want {
		w.t.Errorf("metric %d is %v instead of %v", metric, got, want)
	}
}

func endpoint(address string, port uint16) dnswire.Endpoint {
	var e dnswire.Endpoint
	var a, b, c, d byte
	_, _ = fmt.Sscanf(address, "%d.%d.%d.%d", &a, &b, &c, &d)
	e.Address = dnswire.Address{10: 0xff, 11: 0xff, 12: a, 13: b, 14: c, 15: d}
	e.Port = port
	return e
}

// send gives the tracker a UDP packet at a time in µs after the base.
func (w *world) send(atUS int64, from, to dnswire.Endpoint, message []byte) {
	packet := make([]byte, 28, 28+len(message))
	packet[0], packet[9] = 0x45, dnswire.ProtocolUDP
	binary.BigEndian.PutUint16(packet[2:], uint16(28+len(message)))
	copy(packet[12:], from.Address[12:])
	copy(packet[16:], to.Address[12:])
	binary.BigEndian.PutUint16(packet[20:], from.Port)
	binary.BigEndian.PutUint16(packet[22:], to.Port)
	binary.BigEndian.PutUint16(packet[24:], uint16(8+len(message)))
	w.packet = Packet{TimeNS: (baseUS + atUS) * 1000, EtherType: dnswire.EtherTypeIPv4, Data: append(packet, message...)}
	w.tracker.Packet(0, &w.packet)
}

var server53 = endpoint("10.0.0.53", 53)

func message(id uint16, name string, response bool, rcode int) []byte {
	m := new(dns.Msg)
	m.SetQuestion(name, dns.TypeA)
	m.Id, m.Response, m.Rcode = id, response, rcode
	wire, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return wire
}

// exchange is a query at a time and its answer latencyUS later; later exchanges may overlap it only after.
func (w *world) exchange(atUS, latencyUS int64, from dnswire.Endpoint, id uint16, rcode int) {
	w.send(atUS, from, server53, message(id, "a.example.", false, 0))
	w.send(atUS+latencyUS, server53, from, message(id, "a.example.", true, rcode))
}

func TestCountsAndTimes(t *testing.T) {
	w := newWorld(t)
	client := endpoint("10.0.0.7", 40000)
	w.exchange(1_000, 300, client, 1, dns.RcodeSuccess)
	w.exchange(2_000, 700, client, 2, dns.RcodeNameError)
	w.exchange(3_000, 21_000, client, 3, dns.RcodeServerFailure)
	w.send(50_000, client, server53, message(4, "b.example.", false, 0))
	w.send(50_500, client, server53, message(4, "b.example.", false, 0)) // repeated
	w.send(51_000, server53, client, message(99, "x.example.", true, 0)) // nobody asked
	w.tick()
	w.expect(catalogue.DNSQueries, 4)
	w.expect(catalogue.DNSAnswers, 3)
	w.expect(catalogue.DNSNxdomain, 1)
	w.expect(catalogue.DNSServfail, 1)
	w.expect(catalogue.DNSSlow, 1)
	w.expect(catalogue.DNSLatencyMaxUS, 21_000)
	w.expect(catalogue.DNSInflight, 1)
	if w.triggers != 1 {
		t.Errorf("%d triggers for one slow query", w.triggers)
	}
	w.send(120_000, server53, client, message(4, "b.example.", true, dns.RcodeRefused))
	w.tick()
	w.expect(catalogue.DNSQueries, 0)
	w.expect(catalogue.DNSAnswers, 1)
	w.expect(catalogue.DNSRefused, 1)
	w.expect(catalogue.DNSLatencyMaxUS, 70_000)
	w.expect(catalogue.DNSInflight, 0)
	if stats := w.tracker.Statistics(); stats.Repeated != 1 || stats.Unmatched != 1 {
		t.Errorf("%+v", stats)
	}
}

func TestTimeoutAfterFiveSeconds(t *testing.T) {
	w := newWorld(t)
	client := endpoint("10.0.0.7", 40000)
	w.send(50_000, client, server53, message(1, "a.example.", false, 0))
	for range 50 {
		w.tick()
	}
	w.expect(catalogue.DNSTimeouts, 0)
	w.tick()
	w.expect(catalogue.DNSTimeouts, 1)
	w.expect(catalogue.DNSInflight, 0)
	w.tick()
	w.expect(catalogue.DNSTimeouts, 0)
	w.send(5_300_000, server53, client, message(1, "a.example.", true, 0)) // too late
	w.tick()
	w.expect(catalogue.DNSAnswers, 0)
}

func TestSameIDFromManyClients(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		w.send(int64(i), endpoint("10.0.1.1", uint16(1000+i)), server53, message(7, "a.example.", false, 0))
	}
	for i := range 200 {
		w.send(int64(1000+i), server53, endpoint("10.0.1.1", uint16(1199-i)), message(7, "a.example.", true, 0))
	}
	w.tick()
	w.expect(catalogue.DNSAnswers, 200)
	w.expect(catalogue.DNSInflight, 0)
}

func TestPathsOfBusiestClients(t *testing.T) {
	w := newWorld(t)
	promote := func() {
		for range 2 * MaxPaths {
			change, ok := w.tracker.Promote(w.server)
			if !ok {
				return
			}
			resource := batch.ResourceID(100 + int(change.Client[15]))
			w.tracker.SetPath(w.server, change, NewCounted(resource, func(r batch.ResourceID, metric uint32) batch.Slot {
				slot := batch.Slot(10_000 + len(w.names))
				w.names[slot] = fmt.Sprintf("%d/%d", r, metric)
				return slot
			}))
		}
	}
	ask := func(client byte, times int) {
		for range times {
			w.exchange(w.endUS-baseUS+100, 50, endpoint(fmt.Sprintf("10.0.0.%d", client), 4000), uint16(client), 0)
		}
	}
	for client := byte(1); client <= 12; client++ {
		ask(client, int(client)*5)
	}
	promote()
	w.tick()
	for client := byte(1); client <= 12; client++ {
		ask(client, int(client))
	}
	w.tick()
	sum := 0.0
	for client := 1; client <= 12; client++ {
		values := w.values[fmt.Sprintf("%d/%d", 100+client, catalogue.DNSQueries)]
		own := client > 12-MaxPaths
		if own != (len(values) > 0) {
			t.Errorf("client %d: own path %v, values %v", client, own, values)
		}
		if own {
			sum += values[len(values)-1]
		}
	}
	other := w.values[fmt.Sprintf("2/%d", catalogue.DNSQueries)]
	if total := sum + other[len(other)-1]; total != 78 {
		t.Errorf("the paths together have %v queries instead of 78", total)
	}
	ask(1, 1000)
	promote()
	if w.server.paths[0] == nil || len(w.values["101/80"]) != 0 {
		t.Fatal("path of client 1 exists too early")
	}
	w.tick()
	if len(w.values[fmt.Sprintf("101/%d", catalogue.DNSQueries)]) == 0 {
		t.Error("the busiest client did not get a path")
	}
}

func TestCompleteWindowAroundASlowQuery(t *testing.T) {
	w := newWorld(t)
	client := endpoint("10.0.0.7", 40000)
	var blocks []*ingestpb.QueryBlock
	for tick := range int64(100) { // 10 s, a query every 10 ms, one of them slow at 5 s
		for i := range int64(10) {
			at := tick*100_000 + i*10_000
			latency := int64(200)
			if at == 5_000_000 {
				latency = 60_000
			}
			id := uint16(tick*10 + i)
			w.send(at, client, server53, message(id, "a.example.", false, 0))
			if latency == 60_000 {
				w.tracker.reads.put(&Read{Client: client, ServerPort: 53, ID: id, ReadNS: (baseUS + at + 50_000) * 1000})
				continue
			}
			w.send(at+latency, server53, client, message(id, "a.example.", true, 0))
			if at == 5_060_000 {
				w.send(at+210, server53, client, message(500, "a.example.", true, 0))
			}
		}
		w.tick()
		if tick%5 == 0 {
			for _, b := range w.tracker.Flush(false) {
				blocks = append(blocks, b.Queries)
			}
		}
	}
	type row struct{ at, latency int64 }
	var rows []row
	covered := int64(0)
	end := int64(0)
	for _, b := range blocks {
		if b.Complete {
			covered += b.EndUs - b.StartUs
			if end != 0 && b.StartUs != end {
				t.Errorf("a hole or an overlap between %d and %d", end, b.StartUs)
			}
			end = b.EndUs
		}
		for i, offset := range b.OffsetUs {
			at := b.StartUs + int64(offset)
			if at < b.StartUs || at >= b.EndUs {
				t.Errorf("a row outside its block")
			}
			rows = append(rows, row{at - baseUS, int64(b.LatencyUs[i])})
			if b.Names[b.Name[i]] != "a.example. A" || b.Clients[b.Client[i]] != "10.0.0.7" {
				t.Errorf("row is %s by %s", b.Names[b.Name[i]], b.Clients[b.Client[i]])
			}
			if wait := b.QueueWaitUs; (wait != nil) != (rows[len(rows)-1].latency > slowUS) {
				t.Errorf("queue waits %v", wait)
			} else if wait != nil && wait[i] != 50_000 {
				t.Errorf("queue wait %v", wait[i])
			}
		}
	}
	if covered < 4_000_000 || covered > 4_200_000 {
		t.Errorf("complete windows cover %d us", covered)
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.at - b.at) })
	slow := 0
	for i, r := range rows {
		if i > 0 && r.at != rows[i-1].at+10_000 {
			t.Errorf("query missing or twice between %d and %d", rows[i-1].at, r.at)
		}
		if r.latency > slowUS {
			slow++
		}
	}
	if slow != 1 || len(rows) < 400 {
		t.Errorf("%d rows, %d slow", len(rows), slow)
	}
}

func TestLossyWindowsAreNotComplete(t *testing.T) {
	w := newWorld(t)
	w.exchange(10_000, 30_000, endpoint("10.0.0.7", 40000), 1, 0)
	w.exchange(50_000, 300, endpoint("10.0.0.7", 40000), 2, 0)
	w.tick()
	blocks := w.tracker.Flush(true)
	if len(blocks) != 1 || blocks[0].Queries.Complete || len(blocks[0].Queries.OffsetUs) != 1 {
		t.Errorf("%+v", blocks)
	}
}

func TestServerLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	for i := range 100 {
		w.send(int64(i), endpoint("10.0.0.7", uint16(1000+i)), server53, message(1, "a.example.", false, 0))
	}
	w.tracker.Remove(w.server)
	if w.tracker.inflight.first() != nil {
		t.Error("unanswered queries are left")
	}
	w.send(500, endpoint("10.0.0.7", 1), server53, message(1, "a.example.", false, 0))
	if got := w.tracker.Candidates(); len(got) != 1 || got[0].Endpoint != server53 {
		t.Errorf("candidates %v", got)
	}
}
