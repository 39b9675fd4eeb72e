package dnscapture

import (
	"encoding/binary"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// sendTCP passes a TCP segment to the tracker.
func (w *world) sendTCP(atUS int64, from, to dnswire.Endpoint, flags byte, sequence uint32, payload []byte) {
	packet := make([]byte, 40, 40+len(payload))
	packet[0], packet[9] = 0x45, dnswire.ProtocolTCP
	binary.BigEndian.PutUint16(packet[2:], uint16(40+len(payload)))
	copy(packet[12:], from.Address[12:])
	copy(packet[16:], to.Address[12:])
	binary.BigEndian.PutUint16(packet[20:], from.Port)
	binary.BigEndian.PutUint16(packet[22:], to.Port)
	binary.BigEndian.PutUint32(packet[24:], sequence)
	packet[32], packet[33] = 5<<4, flags
	w.packet = Packet{TimeNS: (baseUS + atUS) * 1000, EtherType: dnswire.EtherTypeIPv4, Data: append(packet, payload...)}
	w.tracker.Packet(0, &w.packet)
}

func prefixed(messages ...[]byte) []byte {
	var stream []byte
	for _, m := range messages {
		stream = append(binary.BigEndian.AppendUint16(stream, uint16(len(m))), m...)
	}
	return stream
}

func TestTCPPipelinedAndAnsweredOutOfOrder(t *testing.T) {
	w := newWorld(t)
	client := endpoint("10.0.0.7", 50000)
	queries := prefixed(message(1, "a.example.", false, 0), message(2, "b.example.", false, 0), message(3, "c.example.", false, 0))
	first, second := prefixed(message(3, "c.example.", true, 0)), prefixed(message(1, "a.example.", true, 3), message(2, "b.example.", true, 0))
	w.sendTCP(0, client, server53, dnswire.TCPSyn, 99, nil)
	w.sendTCP(100, server53, client, dnswire.TCPSyn, 999, nil)
	w.sendTCP(1_000, client, server53, 0, 100, queries[:50]) // split inside a message
	w.sendTCP(1_100, client, server53, 0, 150, queries[50:])
	w.sendTCP(2_000, server53, client, 0, 1000, first)
	w.sendTCP(2_500, server53, client, 0, 1000, first) // retransmitted
	w.sendTCP(41_100, server53, client, 0, 1000+uint32(len(first)), second)
	w.tick()
	w.expect(catalogue.DNSQueries, 3)
	w.expect(catalogue.DNSAnswers, 3)
	w.expect(catalogue.DNSNxdomain, 1)
	w.expect(catalogue.DNSSlow, 2)
	w.expect(catalogue.DNSLatencyMaxUS, 40_100)
	w.expect(catalogue.DNSInflight, 0)
	if got := w.tracker.Candidates(); len(got) != 0 {
		t.Errorf("a client was taken for a server: %v", got)
	}
}

// TestServerResetsAConnection: queries in flight on it have no answer and are not late; other connections continue.
func TestServerResetsAConnection(t *testing.T) {
	w := newWorld(t)
	client, other := endpoint("10.0.0.7", 50000), endpoint("10.0.0.7", 50001)
	first := prefixed(message(1, "a.example.", false, 0))
	w.sendTCP(0, client, server53, dnswire.TCPSyn, 99, nil)
	w.sendTCP(0, other, server53, dnswire.TCPSyn, 99, nil)
	w.sendTCP(1_000, client, server53, 0, 100, first)
	w.sendTCP(1_100, client, server53, 0, 100+uint32(len(first)), prefixed(message(2, "b.example.", false, 0)))
	w.sendTCP(1_200, other, server53, 0, 100, prefixed(message(1, "c.example.", false, 0)))
	w.sendTCP(2_000, server53, client, 0, 1000, prefixed(message(1, "a.example.", true, 0)))
	w.sendTCP(2_100, server53, client, dnswire.TCPRst, 1100, nil)
	w.tick()
	w.expect(catalogue.DNSQueries, 3)
	w.expect(catalogue.DNSAnswers, 1)
	w.expect(catalogue.DNSInflight, 1)
	w.sendTCP(200_000, other, server53, dnswire.TCPRst, 200, nil) // the client gives up: the server was late
	for range 60 {
		w.tick()
	}
	w.expect(catalogue.DNSInflight, 0)
	if w.tracker.stats.Reset != 1 {
		t.Errorf("%d queries were reset, want 1", w.tracker.stats.Reset)
	}
}

func TestTickDoesNotAllocate(t *testing.T) {
	w := newWorld(t)
	discard := discardRecorder{}
	client := endpoint("10.0.0.7", 50000)
	query, answer := message(1, "a.example.", false, 0), message(1, "a.example.", true, 0)
	// Prepared in advance: the packets come from the kernel.
	var udp [2]Packet
	w.send(0, client, server53, query)
	udp[0] = w.packet
	w.send(0, server53, client, answer)
	udp[1] = w.packet
	var tcp [2]Packet
	w.sendTCP(0, client, server53, 0, 100, prefixed(query))
	tcp[0] = w.packet
	w.sendTCP(0, server53, client, 0, 100, prefixed(answer))
	tcp[1] = w.packet
	at := int64(baseUS)
	read := Read{Client: client, ServerPort: 53, ID: 1}
	throttled := func(*Server) bool { return true }
	round := func() {
		w.tracker.Lock()
		defer w.tracker.Unlock()
		for range 50 {
			at += 1000
			read.ReadNS = at*1000 + 50_000
			w.tracker.Read(&read)
			udp[0].TimeNS, udp[1].TimeNS = at*1000, (at+30_000)*1000
			w.tracker.Packet(0, &udp[0])
			w.tracker.Packet(0, &udp[1])
			tcp[0].TimeNS, tcp[1].TimeNS = at*1000, (at+300)*1000
			w.tracker.Packet(0, &tcp[0])
			w.tracker.Packet(0, &tcp[1])
		}
		w.tracker.Tick(0, at, discard, throttled)
	}
	for range 20 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n != 0 {
		t.Errorf("%v allocations in a tick of 100 exchanges", n)
	}
	if stats := w.tracker.Statistics(); stats.NotDNS != 0 || stats.Unmatched > 10 {
		t.Errorf("%+v", stats)
	}
}
