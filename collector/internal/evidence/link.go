package evidence

import (
	"encoding/binary"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// Link types (https://www.tcpdump.org/linktypes.html).
const (
	linkNull      = 0
	linkEthernet  = 1
	linkRawBSD    = 12
	linkRawOpen   = 14
	linkRaw       = 101
	linkLoop      = 108
	linkCooked    = 113
	linkIPv4      = 228
	linkIPv6      = 229
	linkCooked2   = 276
	noEtherType   = 0 // a frame that holds no IP packet
	arphrdNetlink = 824
)

func linkName(number int) string {
	switch number {
	case linkNull:
		return "BSD loopback"
	case linkEthernet:
		return "Ethernet"
	case linkRawBSD, linkRawOpen, linkRaw:
		return "raw IP"
	case linkLoop:
		return "OpenBSD loopback"
	case linkCooked:
		return "Linux cooked v1"
	case linkIPv4:
		return "raw IPv4"
	case linkIPv6:
		return "raw IPv6"
	case linkCooked2:
		return "Linux cooked v2"
	}
	return "unknown"
}

// networkLayer strips the link header. readable is false for link types that are not supported, and etherType is
// noEtherType for frames too short for their header.
func networkLayer(link int, frame []byte) (etherType uint16, rest []byte, readable bool) {
	switch link {
	case linkEthernet:
		if len(frame) < 14 {
			return noEtherType, nil, true
		}
		return binary.BigEndian.Uint16(frame[12:]), frame[14:], true
	case linkCooked:
		if len(frame) < 16 {
			return noEtherType, nil, true
		}
		return binary.BigEndian.Uint16(frame[14:]), frame[16:], true
	case linkCooked2:
		if len(frame) < 20 || binary.BigEndian.Uint16(frame[8:]) == arphrdNetlink {
			return noEtherType, nil, true
		}
		return binary.BigEndian.Uint16(frame), frame[20:], true
	case linkRaw, linkRawBSD, linkRawOpen, linkIPv4, linkIPv6:
		return byVersion(frame), frame, true
	case linkNull, linkLoop:
		// The number of the address family depends on the capturing system, the packet itself does not.
		if len(frame) < 5 {
			return noEtherType, nil, true
		}
		return byVersion(frame[4:]), frame[4:], true
	}
	return noEtherType, nil, false
}

func byVersion(packet []byte) uint16 {
	if len(packet) == 0 {
		return noEtherType
	}
	switch packet[0] >> 4 {
	case 4:
		return dnswire.EtherTypeIPv4
	case 6:
		return dnswire.EtherTypeIPv6
	}
	return noEtherType
}

// ipFacts is what counting needs from a packet beyond its segment.
type ipFacts struct {
	isIP          bool
	protocol      uint8
	fragment      bool
	laterFragment bool
	payload       []byte // after the IP header, in simple cases
}

// stripVLAN skips up to two VLAN tags.
func stripVLAN(etherType uint16, packet []byte) (uint16, []byte) {
	for range 2 {
		if etherType != 0x8100 && etherType != 0x88a8 && etherType != 0x9100 || len(packet) < 4 {
			break
		}
		etherType, packet = binary.BigEndian.Uint16(packet[2:]), packet[4:]
	}
	return etherType, packet
}

// inspectIP examines an IP header that dnswire.ParseIP rejected, or any for fragments.
func inspectIP(etherType uint16, packet []byte) ipFacts {
	switch {
	case etherType == dnswire.EtherTypeIPv4 && len(packet) >= 20:
		fragment := binary.BigEndian.Uint16(packet[6:])
		facts := ipFacts{isIP: true, protocol: packet[9], fragment: fragment&0x3fff != 0, laterFragment: fragment&0x1fff != 0}
		if header := int(packet[0]&0xf) * 4; header >= 20 && header <= len(packet) {
			facts.payload = packet[header:]
		}
		return facts
	case etherType == dnswire.EtherTypeIPv6 && len(packet) >= 40:
		facts := ipFacts{isIP: true, protocol: packet[6], payload: packet[40:]}
		// Fragment headers come last or nearly so; only the usual case, directly after the IP header, is recognized.
		if facts.protocol == 44 && len(facts.payload) >= 8 {
			offset := binary.BigEndian.Uint16(facts.payload[2:])
			facts.fragment, facts.laterFragment = offset&0xfff9 != 0, offset&0xfff8 != 0
			facts.protocol, facts.payload = facts.payload[0], facts.payload[8:]
		}
		return facts
	case etherType == dnswire.EtherTypeIPv4 || etherType == dnswire.EtherTypeIPv6:
		return ipFacts{isIP: true}
	}
	return ipFacts{}
}

const (
	protocolICMP   = 1
	protocolICMPv6 = 58
)

// quotedSegment reads the packet that an ICMP error (destination unreachable) quotes.
func quotedSegment(facts ipFacts, segment *dnswire.Segment) bool {
	body := facts.payload
	if len(body) < 8+20 {
		return false
	}
	switch {
	case facts.protocol == protocolICMP && body[0] == 3, facts.protocol == protocolICMPv6 && body[0] == 1:
		quoted := body[8:]
		return dnswire.ParseIP(byVersion(quoted), quoted, segment)
	}
	return false
}
