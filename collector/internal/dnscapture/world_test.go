package dnscapture

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
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

// send passes a UDP packet to the tracker at a time in µs after the base.
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

// exchange is a query at a time and its answer latencyUS later; later exchanges can overlap it only after.
func (w *world) exchange(atUS, latencyUS int64, from dnswire.Endpoint, id uint16, rcode int) {
	w.send(atUS, from, server53, message(id, "a.example.", false, 0))
	w.send(atUS+latencyUS, server53, from, message(id, "a.example.", true, rcode))
}

// discardRecorder takes what is recorded.
type discardRecorder struct{}

func (discardRecorder) SetAt(int, batch.Slot, float64)                               {}
func (discardRecorder) Distribution(int, batch.ResourceID, uint32, *batch.Histogram) {}
func (discardRecorder) Trigger(batch.ResourceID, string, int64)                      {}
