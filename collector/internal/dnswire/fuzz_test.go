package dnswire

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
)

func FuzzPacket(f *testing.F) {
	message := packed(f, "a.example.", dns.TypeA, false, 0)
	f.Add(uint16(EtherTypeIPv4), udp4(message, 4))
	f.Add(uint16(EtherTypeIPv6), udp6(message, 0, 44))
	f.Add(uint16(etherTypeVLAN), append([]byte{0, 7, 8, 0}, udp4(message, 0)...))
	f.Fuzz(func(t *testing.T, etherType uint16, packet []byte) {
		var s Segment
		if !ParseIP(etherType, packet, &s) {
			return
		}
		if len(s.Payload) > s.PayloadLength || s.PayloadLength < 0 {
			t.Fatalf("payload %d of %d", len(s.Payload), s.PayloadLength)
		}
	})
}

func FuzzQuestion(f *testing.F) {
	f.Add(packed(f, "www.Example.com.", dns.TypeA, false, 0))
	f.Add(packed(f, `we\.ird\000.example.`, 65000, true, 3))
	f.Fuzz(func(t *testing.T, message []byte) {
		var h Header
		if !ParseHeader(message, &h) {
			return
		}
		text, ok := AppendQuestion(nil, message)
		if !ok {
			return
		}
		// Whatever is accepted must be a name that the reference implementation reads the same way.
		name, end, err := dns.UnpackDomainName(message, HeaderLength)
		if err != nil || end+4 > len(message) {
			t.Fatalf("reference refuses %q: %v", text, err)
		}
		got := string(text[:strings.LastIndexByte(string(text), ' ')])
		wire, refWire := make([]byte, 300), make([]byte, 300)
		a, errA := dns.PackDomainName(got, wire, 0, nil, false)
		b, errB := dns.PackDomainName(strings.ToLower(name), refWire, 0, nil, false)
		if errA != nil || errB != nil || !strings.EqualFold(string(wire[:a]), string(refWire[:b])) {
			t.Fatalf("%q and reference %q: %v, %v", got, name, errA, errB)
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add(prefixed(packed(f, "a.example.", dns.TypeA, false, 0)), uint32(7), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, sequence uint32, hidden uint16) {
		var s Stream
		total := 0
		for at := 0; at < len(data); {
			size := min(1+int(data[at])%64, len(data)-at)
			s.Add(sequence+uint32(at), data[at:at+size], size+int(hidden), func(start []byte) {
				if len(start) < HeaderLength || len(start) > streamBuffer {
					t.Fatalf("message start of %d bytes", len(start))
				}
				total++
			})
			at += size
		}
		if total > len(data)+int(hidden)*len(data) {
			t.Fatal("more messages than bytes")
		}
	})
}
