// Package dnswire reads DNS messages from captured packets without allocating. Input is hostile: every length is
// checked, loops are bounded, and whatever does not parse is reported as such, never guessed.
package dnswire

import "encoding/binary"

// EtherTypes as they appear in sll_protocol and in Ethernet headers.
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeIPv6 = 0x86dd
	etherTypeVLAN = 0x8100
	etherTypeQinQ = 0x88a8
	etherTypeOld  = 0x9100
)

// IP protocol numbers.
const (
	ProtocolTCP = 6
	ProtocolUDP = 17
)

// TCP flag bits.
const (
	TCPFin = 0x01
	TCPSyn = 0x02
	TCPRst = 0x04
	TCPAck = 0x10
)

// Address is an IPv6 address, or an IPv4 address mapped into IPv6 (::ffff:a.b.c.d).
type Address [16]byte

// IsWildcard reports whether a socket bound to the address receives for every local address.
func (a Address) IsWildcard() bool { return a == Address{} || a == Address{10: 0xff, 11: 0xff} }

// Endpoint is one side of a flow.
type Endpoint struct {
	Address Address
	Port    uint16
}

// Segment is one UDP datagram or TCP segment.
type Segment struct {
	Source, Destination Endpoint
	Protocol            uint8
	TCPFlags            uint8
	TCPSequence         uint32
	TCPAcknowledgment   uint32
	// Payload is the captured part of the payload; PayloadLength is its length on the wire.
	Payload       []byte
	PayloadLength int
}

// ParseIP parses a packet that starts at its network header. It returns false for anything but a first or only fragment
// of UDP or TCP over IPv4 or IPv6. The segment's payload aliases packet.
func ParseIP(etherType uint16, packet []byte, segment *Segment) bool {
	for range 2 {
		if etherType != etherTypeVLAN && etherType != etherTypeQinQ && etherType != etherTypeOld {
			break
		}
		if len(packet) < 4 {
			return false
		}
		etherType = binary.BigEndian.Uint16(packet[2:])
		packet = packet[4:]
	}
	switch etherType {
	case EtherTypeIPv4:
		return parseIPv4(packet, segment)
	case EtherTypeIPv6:
		return parseIPv6(packet, segment)
	}
	return false
}

func parseIPv4(packet []byte, segment *Segment) bool {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return false
	}
	header := int(packet[0]&0xf) * 4
	total := int(binary.BigEndian.Uint16(packet[2:]))
	if total == 0 {
		// The kernel leaves 0 in segments larger than 64 KiB (BIG TCP): trust the captured length.
		total = len(packet)
	}
	fragment := binary.BigEndian.Uint16(packet[6:])
	if header < 20 || total < header || len(packet) < header || fragment&0x1fff != 0 {
		return false
	}
	setIPv4(&segment.Source.Address, packet[12:16])
	setIPv4(&segment.Destination.Address, packet[16:20])
	return parseTransport(packet[9], packet[header:], total-header, segment)
}

func setIPv4(address *Address, bytes []byte) {
	*address = Address{10: 0xff, 11: 0xff}
	copy(address[12:], bytes)
}

func parseIPv6(packet []byte, segment *Segment) bool {
	if len(packet) < 40 || packet[0]>>4 != 6 {
		return false
	}
	copy(segment.Source.Address[:], packet[8:24])
	copy(segment.Destination.Address[:], packet[24:40])
	next := packet[6]
	length := int(binary.BigEndian.Uint16(packet[4:]))
	rest := packet[40:]
	if length == 0 {
		length = len(rest)
	}
	for range 8 {
		switch next {
		case ProtocolUDP, ProtocolTCP:
			return parseTransport(next, rest, length, segment)
		case 0, 43, 60, 44: // hop-by-hop, routing, destination options, fragment
			if len(rest) < 8 {
				return false
			}
			size := (int(rest[1]) + 1) * 8
			if next == 44 {
				if binary.BigEndian.Uint16(rest[2:])&0xfff8 != 0 {
					return false
				}
				size = 8
			}
			if len(rest) < size || length < size {
				return false
			}
			next = rest[0]
			rest = rest[size:]
			length -= size
		default:
			return false
		}
	}
	return false
}

func parseTransport(protocol uint8, data []byte, length int, segment *Segment) bool {
	segment.Protocol = protocol
	var header int
	switch protocol {
	case ProtocolUDP:
		if len(data) < 8 {
			return false
		}
		header = 8
		segment.TCPFlags, segment.TCPSequence, segment.TCPAcknowledgment = 0, 0, 0
		// The datagram can be longer than this first fragment of it.
		length = max(length, int(binary.BigEndian.Uint16(data[4:])))
	case ProtocolTCP:
		if len(data) < 20 {
			return false
		}
		header = int(data[12]>>4) * 4
		segment.TCPFlags = data[13]
		segment.TCPSequence = binary.BigEndian.Uint32(data[4:])
		segment.TCPAcknowledgment = binary.BigEndian.Uint32(data[8:])
	default:
		return false
	}
	if header < 8 || length < header {
		return false
	}
	segment.Source.Port = binary.BigEndian.Uint16(data)
	segment.Destination.Port = binary.BigEndian.Uint16(data[2:])
	segment.PayloadLength = length - header
	segment.Payload = data[min(header, len(data)):]
	if len(segment.Payload) > segment.PayloadLength {
		// Ethernet pads short frames.
		segment.Payload = segment.Payload[:segment.PayloadLength]
	}
	return true
}
