package evidence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// Block types (draft-ietf-opsawg-pcapng).
const (
	blockInterface  = 1
	blockOldPacket  = 2
	blockSimple     = 3
	blockStatistics = 5
	blockEnhanced   = 6
)

const (
	maxInterfaces  = 4096
	maxOptionBytes = 64 << 10 // of an interface or statistics block: the rest is ignored
)

// captureInterface is an interface that packets refer to.
type captureInterface struct {
	link       int
	snapLength uint32
	decimal    bool
	exponent   uint8 // resolution 10^-exponent or 2^-exponent
	offsetNs   int64
}

// pcapng reads blocks; sections with different byte orders and interfaces can follow one another.
type pcapng struct {
	source     *source
	order      binary.ByteOrder
	interfaces []captureInterface
	facts      captureFacts
}

func newPcapng(s *source) (*pcapng, error) {
	p := &pcapng{source: s, facts: captureFacts{format: "pcapng"}}
	if err := p.section(); err != nil {
		var stop *stopError
		if errors.As(err, &stop) {
			return nil, &NotCaptureError{stop.detail}
		}
		return nil, err
	}
	return p, nil
}

func (p *pcapng) about() *captureFacts { return &p.facts }

// section reads a section header, which defines the byte order of its own length.
func (p *pcapng) section() error {
	head, err := p.source.Peek(12)
	if err != nil {
		return cutOff(err)
	}
	switch binary.LittleEndian.Uint32(head[8:]) {
	case 0x1a2b3c4d:
		p.order = binary.LittleEndian
	case 0x4d3c2b1a:
		p.order = binary.BigEndian
	default:
		return &stopError{stoppedDamaged, "a pcapng section without a byte order"}
	}
	length := p.order.Uint32(head[4:])
	if length < 28 || length%4 != 0 {
		return &stopError{stoppedDamaged, fmt.Sprintf("a pcapng section header of %d bytes", length)}
	}
	p.interfaces = p.interfaces[:0]
	return p.source.skip(int64(length))
}

func (p *pcapng) next(packet *packet) error {
	for {
		head, err := p.source.Peek(8)
		if err != nil {
			if errors.Is(err, io.EOF) && len(head) > 0 {
				return cutOff(err)
			}
			return err
		}
		kind := p.order.Uint32(head)
		if kind == magicPcapng {
			if err := p.section(); err != nil {
				return err
			}
			continue
		}
		length := int64(p.order.Uint32(head[4:]))
		if length < 12 || length%4 != 0 {
			return &stopError{stoppedDamaged, fmt.Sprintf("a pcapng block of %d bytes", length)}
		}
		found, err := p.block(kind, length, packet)
		if err != nil || found {
			return err
		}
	}
}

// block consumes one block of the given total length and reports whether it held a packet.
func (p *pcapng) block(kind uint32, length int64, packet *packet) (bool, error) {
	switch kind {
	case blockEnhanced, blockOldPacket:
		return p.packetBlock(kind, length, packet)
	case blockSimple:
		return p.simplePacket(length, packet)
	case blockInterface, blockStatistics:
		body, err := p.body(length)
		if err != nil {
			return false, err
		}
		if kind == blockInterface {
			err = p.addInterface(body)
		} else {
			p.addStatistics(body)
		}
		if err != nil {
			return false, err
		}
	}
	return false, p.source.skip(length)
}

// body is the start of a block's body, not consumed.
func (p *pcapng) body(length int64) ([]byte, error) {
	size := int(min(length-4, 8+maxOptionBytes))
	data, err := p.source.Peek(size)
	if err != nil {
		return nil, cutOff(err)
	}
	return data[8:], nil
}

func (p *pcapng) packetBlock(kind uint32, length int64, packet *packet) (bool, error) {
	if length < 32 {
		return false, &stopError{stoppedDamaged, fmt.Sprintf("a packet block of %d bytes", length)}
	}
	head, err := p.source.Peek(28)
	if err != nil {
		return false, cutOff(err)
	}
	number := p.order.Uint32(head[8:])
	if kind == blockOldPacket {
		number = uint32(p.order.Uint16(head[8:]))
	}
	captured := int64(p.order.Uint32(head[20:]))
	if captured > length-32 || captured > longestPacket || int64(number) >= int64(len(p.interfaces)) {
		return false, &stopError{stoppedDamaged, fmt.Sprintf("a packet of %d bytes in a block of %d, interface %d of %d",
			captured, length, number, len(p.interfaces))}
	}
	source := &p.interfaces[number]
	packet.atNs = source.nanoseconds(uint64(p.order.Uint32(head[12:]))<<32 | uint64(p.order.Uint32(head[16:])))
	packet.wireLength = int(max(int64(p.order.Uint32(head[24:])), captured))
	return true, p.deliver(packet, source.link, 28, captured, length)
}

// simplePacket has no time: a file of such packets cannot show latencies; they all get the epoch.
func (p *pcapng) simplePacket(length int64, packet *packet) (bool, error) {
	if length < 16 || len(p.interfaces) == 0 {
		return false, &stopError{stoppedDamaged, "a simple packet block without an interface"}
	}
	head, err := p.source.Peek(12)
	if err != nil {
		return false, cutOff(err)
	}
	wire := int64(p.order.Uint32(head[8:]))
	captured := min(wire, length-16)
	if snap := int64(p.interfaces[0].snapLength); snap > 0 {
		captured = min(captured, snap)
	}
	packet.atNs = 0
	packet.wireLength = int(wire)
	return true, p.deliver(packet, p.interfaces[0].link, 12, captured, length)
}

// deliver skips the head of a block, takes the packet and skips the rest.
func (p *pcapng) deliver(packet *packet, link int, head, captured, length int64) error {
	if err := p.source.skip(head); err != nil {
		return err
	}
	packet.link = link
	p.facts.links[link].packets++
	rest := length - head - captured
	if captured+rest > int64(p.source.Size()) {
		data, err := p.source.take(int(captured))
		if err != nil {
			return err
		}
		packet.data = append([]byte(nil), data[:min(len(data), minimumKept)]...)
		return p.source.skip(rest)
	}
	whole, err := p.source.take(int(captured + rest))
	if err != nil {
		return err
	}
	packet.data = whole[:captured]
	return nil
}

func (p *pcapng) addInterface(body []byte) error {
	if len(body) < 8 {
		return &stopError{stoppedDamaged, "a short interface block"}
	}
	if len(p.interfaces) == maxInterfaces {
		return &stopError{stoppedDamaged, fmt.Sprintf("more than %d interfaces", maxInterfaces)}
	}
	added := captureInterface{
		link: p.facts.linkIndex(int(p.order.Uint16(body))), snapLength: p.order.Uint32(body[4:]), decimal: true, exponent: 6,
	}
	p.options(body[8:], func(code uint16, value []byte) {
		switch {
		case code == 9 && len(value) == 1: // if_tsresol
			added.decimal, added.exponent = value[0]&0x80 == 0, value[0]&0x7f
		case code == 14 && len(value) == 8: // if_tsoffset, seconds
			seconds := int64(p.order.Uint64(value))
			added.offsetNs = min(max(seconds, -maxSeconds), maxSeconds) * 1e9
		}
	})
	p.interfaces = append(p.interfaces, added)
	p.facts.resolutionNs = max(p.facts.resolutionNs, added.resolutionNs())
	return nil
}

func (p *pcapng) addStatistics(body []byte) {
	if len(body) < 12 {
		return
	}
	p.options(body[12:], func(code uint16, value []byte) {
		if (code == 5 || code == 7) && len(value) == 8 { // isb_ifdrop, isb_osdrop
			if drops := p.order.Uint64(value); drops < math.MaxInt64/2 {
				p.facts.drops = max(p.facts.drops, int64(drops))
				p.facts.dropsKnown = true
			}
		}
	})
}

func (p *pcapng) options(data []byte, found func(code uint16, value []byte)) {
	for len(data) >= 4 {
		code, length := p.order.Uint16(data), int(p.order.Uint16(data[2:]))
		if code == 0 || 4+length > len(data) {
			return
		}
		found(code, data[4:4+length])
		data = data[min(4+(length+3)/4*4, len(data)):]
	}
}

// maxSeconds keeps times in nanoseconds within 63 bits, with room for addition.
const maxSeconds = 4e9

func (i *captureInterface) resolutionNs() int64 {
	if i.decimal {
		if i.exponent >= 9 {
			return 1
		}
		return int64(math.Pow10(9 - int(i.exponent)))
	}
	if i.exponent >= 30 {
		return 1
	}
	return int64(1e9) >> i.exponent
}

// nanoseconds converts a timestamp of the interface to nanoseconds since the epoch, at least 0.
func (i *captureInterface) nanoseconds(stamp uint64) int64 {
	var seconds, rest uint64
	switch {
	case i.decimal && i.exponent <= 19:
		unit := uint64(1)
		for range i.exponent {
			unit *= 10
		}
		seconds, rest = stamp/unit, stamp%unit
		high, low := bits.Mul64(rest, 1e9)
		rest, _ = bits.Div64(high, low, unit)
	case !i.decimal && i.exponent < 64:
		seconds = stamp >> i.exponent
		high, low := bits.Mul64(stamp-seconds<<i.exponent, 1e9)
		rest = low >> i.exponent
		if i.exponent > 0 {
			rest |= high << (64 - i.exponent)
		}
	}
	return max(0, int64(min(seconds, maxSeconds))*1e9+int64(rest)+i.offsetNs)
}
