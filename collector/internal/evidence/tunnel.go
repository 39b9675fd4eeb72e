package evidence

import (
	"encoding/binary"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// Ports on which overlay networks of clusters encapsulate packets.
const (
	portVXLAN      = 4789 // RFC 7348
	portVXLANLinux = 8472 // the kernel's default, flannel's
	portGeneve     = 6081 // RFC 8926
	protocolIPIP   = 4
	protocolIPv6   = 41
	etherTypeFrame = 0x6558
)

// inTunnel returns the packet that a datagram encapsulates, if it belongs to a tunnel.
func inTunnel(s *dnswire.Segment) (etherType uint16, packet []byte, ok bool) {
	p := s.Payload
	var frame []byte
	switch s.Destination.Port {
	case portVXLAN, portVXLANLinux:
		// Only the bit for "has an identifier" can be set, all others are reserved.
		if len(p) < 8 || p[0] != 0x08 || p[1]|p[2]|p[3]|p[7] != 0 {
			return 0, nil, false
		}
		frame = p[8:]
	case portGeneve:
		if len(p) < 8 || p[0]>>6 != 0 || binary.BigEndian.Uint16(p[2:]) != etherTypeFrame {
			return 0, nil, false
		}
		header := 8 + int(p[0]&0x3f)*4
		if len(p) < header {
			return 0, nil, false
		}
		frame = p[header:]
	default:
		return 0, nil, false
	}
	if len(frame) < 14 {
		return 0, nil, false
	}
	etherType, packet = stripVLAN(binary.BigEndian.Uint16(frame[12:]), frame[14:])
	return etherType, packet, true
}

// ipInIP returns the encapsulated packet in an IP-in-IP tunnel, as Calico uses.
func ipInIP(facts ipFacts) (etherType uint16, packet []byte, ok bool) {
	if facts.fragment || facts.protocol != protocolIPIP && facts.protocol != protocolIPv6 {
		return 0, nil, false
	}
	etherType = byVersion(facts.payload)
	return etherType, facts.payload, etherType != noEtherType
}
