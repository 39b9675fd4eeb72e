package dnswire

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

func packed(t testing.TB, name string, queryType uint16, response bool, rcode int) []byte {
	t.Helper()
	m := new(dns.Msg)
	m.SetQuestion(name, queryType)
	m.Id = 4711
	m.Response = response
	m.Rcode = rcode
	wire, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func TestHeaderAgreesWithReference(t *testing.T) {
	for _, rcode := range []int{dns.RcodeSuccess, dns.RcodeServerFailure, dns.RcodeNameError, dns.RcodeRefused} {
		var h Header
		if !ParseHeader(packed(t, "a.example.", dns.TypeA, true, rcode), &h) {
			t.Fatal("not parsed")
		}
		if h.ID != 4711 || !h.Response || int(h.Rcode) != rcode || h.Questions != 1 {
			t.Errorf("header %+v for rcode %d", h, rcode)
		}
	}
}

func TestQuestionText(t *testing.T) {
	long := strings.Repeat("a123456789b123456789c123456789d123456789e123456789f123456789.", 4) + "x."
	for _, c := range []struct {
		name  string
		query uint16
		want  string
	}{
		{"Kubernetes.Default.SVC.cluster.local.", dns.TypeA, "kubernetes.default.svc.cluster.local. A"},
		{".", dns.TypeNS, ". NS"},
		{`we\.ird\032x.example.`, dns.TypeAAAA, `we\.ird\032x.example. AAAA`},
		{"example.", 64999, "example. TYPE64999"},
		{long, dns.TypeTXT, long + " TXT"},
	} {
		got, ok := AppendQuestion(nil, packed(t, c.name, c.query, false, 0))
		if !ok || string(got) != c.want {
			t.Errorf("%s: got %q, %v", c.name, got, ok)
		}
	}
}

func TestQuestionCutOff(t *testing.T) {
	wire := packed(t, "cut.example.", dns.TypeA, false, 0)
	for n := range len(wire) {
		if text, ok := AppendQuestion([]byte("before"), wire[:n]); ok || string(text) != "before" {
			t.Fatalf("%d of %d bytes gave %q, %v", n, len(wire), text, ok)
		}
	}
}

func TestNotAQueryIsRefused(t *testing.T) {
	query := packed(t, "a.example.", dns.TypeA, false, 0)
	update := append([]byte(nil), query...)
	update[2] |= 5 << 3
	two := append([]byte(nil), query...)
	two[5] = 2
	answers := append([]byte(nil), query...)
	answers[7] = 1
	for name, message := range map[string][]byte{"opcode": update, "questions": two, "answers": answers, "short": query[:11]} {
		var h Header
		if ParseHeader(message, &h) {
			t.Errorf("%s: accepted", name)
		}
	}
}

// udp4 builds an IPv4 UDP packet without link header.
func udp4(payload []byte, options int) []byte {
	packet := make([]byte, 20+options+8, 20+options+8+len(payload))
	packet[0] = byte(0x40 | (20+options)/4)
	binary.BigEndian.PutUint16(packet[2:], uint16(20+options+8+len(payload)))
	packet[9] = ProtocolUDP
	copy(packet[12:], []byte{10, 0, 0, 1})
	copy(packet[16:], []byte{10, 0, 0, 2})
	binary.BigEndian.PutUint16(packet[20+options:], 40000)
	binary.BigEndian.PutUint16(packet[20+options+2:], 53)
	binary.BigEndian.PutUint16(packet[20+options+4:], uint16(8+len(payload)))
	return append(packet, payload...)
}

func udp6(payload []byte, extensions ...byte) []byte {
	packet := make([]byte, 40, 40+len(payload)+64)
	packet[0] = 0x60
	packet[6] = ProtocolUDP
	packet[23], packet[39] = 1, 2
	next := &packet[6]
	for _, kind := range extensions {
		*next = kind
		at := len(packet)
		packet = append(packet, make([]byte, 8)...)
		packet[at] = ProtocolUDP
		next = &packet[at]
	}
	header := make([]byte, 8)
	binary.BigEndian.PutUint16(header, 40000)
	binary.BigEndian.PutUint16(header[2:], 53)
	binary.BigEndian.PutUint16(header[4:], uint16(8+len(payload)))
	packet = append(append(packet, header...), payload...)
	binary.BigEndian.PutUint16(packet[4:], uint16(len(packet)-40))
	return packet
}

func TestParseIP(t *testing.T) {
	message := packed(t, "a.example.", dns.TypeA, false, 0)
	vlan := func(inner uint16, packet []byte) []byte {
		return append([]byte{0, 7, byte(inner >> 8), byte(inner)}, packet...)
	}
	for name, c := range map[string]struct {
		etherType uint16
		packet    []byte
	}{
		"IPv4":               {EtherTypeIPv4, udp4(message, 0)},
		"IPv4 with options":  {EtherTypeIPv4, udp4(message, 8)},
		"IPv4 padded":        {EtherTypeIPv4, append(udp4(message, 0), 0, 0, 0, 0)},
		"IPv4 in VLAN":       {etherTypeVLAN, vlan(EtherTypeIPv4, udp4(message, 0))},
		"IPv6 in two VLANs":  {etherTypeQinQ, vlan(etherTypeVLAN, vlan(EtherTypeIPv6, udp6(message)))},
		"IPv6":               {EtherTypeIPv6, udp6(message)},
		"IPv6, hop-by-hop":   {EtherTypeIPv6, udp6(message, 0)},
		"IPv6, 3 extensions": {EtherTypeIPv6, udp6(message, 0, 43, 60)},
		"IPv6, fragment":     {EtherTypeIPv6, udp6(message, 44)},
	} {
		var s Segment
		if !ParseIP(c.etherType, c.packet, &s) {
			t.Errorf("%s: not parsed", name)
			continue
		}
		if s.Destination.Port != 53 || s.Source.Port != 40000 || string(s.Payload) != string(message) || s.PayloadLength != len(message) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	later := udp4(message, 0)
	later[7] = 9
	var s Segment
	if ParseIP(EtherTypeIPv4, later, &s) {
		t.Error("a later fragment was taken for a datagram")
	}
}

func prefixed(messages ...[]byte) []byte {
	var stream []byte
	for _, m := range messages {
		stream = binary.BigEndian.AppendUint16(stream, uint16(len(m)))
		stream = append(stream, m...)
	}
	return stream
}

func TestStreamAnySplit(t *testing.T) {
	big := append(packed(t, "big.example.", dns.TypeTXT, true, 0), make([]byte, 3000)...)
	stream := prefixed(packed(t, "one.example.", dns.TypeA, false, 0), big, packed(t, "two.example.", dns.TypeA, false, 0))
	want := "one.example. A,big.example. TXT,two.example. A,"
	for size := 1; size < 200; size++ {
		var s Stream
		var got string
		const initial = 0xffffff00 // the sequence number wraps inside the stream
		s.Reset(initial)
		for at := 0; at < len(stream); at += size {
			part := stream[at:min(at+size, len(stream))]
			emit := func(start []byte) {
				text, ok := AppendQuestion(nil, start)
				got += fmt.Sprintf("%s,", text)
				if !ok {
					t.Errorf("size %d: question not readable", size)
				}
			}
			s.Add(initial+uint32(at), part, len(part), emit)
			s.Add(initial+uint32(at), part, len(part), emit) // retransmitted
		}
		if got != want {
			t.Fatalf("segments of %d bytes: %s", size, got)
		}
	}
}

func TestStreamCutCaptureKeepsBoundaries(t *testing.T) {
	big := append(packed(t, "big.example.", dns.TypeTXT, true, 0), make([]byte, 60000)...)
	small := packed(t, "small.example.", dns.TypeA, true, 0)
	first, second := prefixed(big), prefixed(small)
	var s Stream
	count := 0
	s.Reset(1)
	s.Add(1, first[:200], len(first), func([]byte) { count++ })
	s.Add(1+uint32(len(first)), second, len(second), func([]byte) { count++ })
	if count != 2 {
		t.Fatalf("%d messages instead of 2", count)
	}
}

func TestStreamResyncsAfterGap(t *testing.T) {
	one := prefixed(packed(t, "one.example.", dns.TypeA, false, 0))
	var s Stream
	count := 0
	s.Add(900, one[5:], len(one)-5, func([]byte) { count++ }) // joined in the middle
	s.Add(5000, one, len(one), func([]byte) { count++ })
	s.Add(9000, one, len(one), func([]byte) { count++ }) // a gap before it
	if count != 2 {
		t.Fatalf("%d messages instead of 2", count)
	}
}

func TestNoAllocations(t *testing.T) {
	packet := udp4(packed(t, "a.example.", dns.TypeA, false, 0), 0)
	stream := prefixed(packed(t, "a.example.", dns.TypeA, false, 0))
	text := make([]byte, 0, 512)
	var segment Segment
	var header Header
	s := new(Stream)
	seen := 0
	emit := func([]byte) { seen++ }
	s.Reset(0)
	at := uint32(0)
	if n := testing.AllocsPerRun(1000, func() {
		if !ParseIP(EtherTypeIPv4, packet, &segment) || !ParseHeader(segment.Payload, &header) {
			t.Fatal("not parsed")
		}
		if _, ok := AppendQuestion(text, segment.Payload); !ok {
			t.Fatal("no question")
		}
		s.Add(at, stream, len(stream), emit)
		at += uint32(len(stream))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
