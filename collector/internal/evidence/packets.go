package evidence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// packet is one captured packet. data aliases the reader's window until the next one.
type packet struct {
	atNs       int64 // since the epoch
	link       int   // packetReader returns the packets of a capture in file order; io.EOF at its proper end.
	data       []byte
	wireLength int
}

// captureFacts is what a file states about itself.
type packetReader interface {
	next(p *packet) error
	about() *captureFacts
}

// captureFacts is what a file says about itself.
type captureFacts struct {
	format       string
	resolutionNs int64 // the coarsest
	links        []linkUse
	drops        int64
	dropsKnown   bool
}

type linkUse struct {
	number  int
	packets int64
}

// linkIndex finds or adds a link type. A file with absurdly many of them shares the last entry.
func (f *captureFacts) linkIndex(number int) int {
	for i := range f.links {
		if f.links[i].number == number {
			return i
		}
	}
	if len(f.links) == maxLinkTypes {
		return maxLinkTypes - 1
	}
	f.links = append(f.links, linkUse{number: number})
	return len(f.links) - 1
}

const maxLinkTypes = 64

// longestPacket is the longest packet that a record can claim; Wireshark's own limit for any link type is 128 MiB.
const longestPacket = 128 << 20

const (
	magicMicroseconds = 0xa1b2c3d4
	magicNanoseconds  = 0xa1b23c4d
	magicModified     = 0xa1b2cd34
	magicPcapng       = 0x0a0d0d0a
)

// openPackets recognizes the format.
func openPackets(s *source) (packetReader, error) {
	head, err := s.Peek(24)
	var stop *stopError
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &stop) {
		return nil, err
	}
	if len(head) < 4 {
		return nil, &NotCaptureError{fmt.Sprintf("only %d bytes", len(head))}
	}
	if binary.LittleEndian.Uint32(head) == magicPcapng {
		return newPcapng(s)
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		switch magic := order.Uint32(head); magic {
		case magicMicroseconds, magicNanoseconds:
			if len(head) < 24 {
				return nil, &NotCaptureError{"a pcap file that ends in its header"}
			}
			return newPcap(s, order, magic == magicNanoseconds, head)
		case magicModified:
			return nil, &NotCaptureError{"an old variant of pcap (Kuznetzov's); convert it with editcap"}
		}
	}
	return nil, &NotCaptureError{fmt.Sprintf("starts with % x, which is neither pcap nor pcapng", head[:4])}
}

// pcap reads the classic format (draft-ietf-opsawg-pcap).
type pcap struct {
	source *source
	big    bool
	unitNs int64
	link   int
	facts  captureFacts
}

func newPcap(s *source, order binary.ByteOrder, nanoseconds bool, head []byte) (*pcap, error) {
	p := &pcap{source: s, big: order == binary.BigEndian, unitNs: 1000}
	if nanoseconds {
		p.unitNs = 1
	}
	p.facts = captureFacts{format: "pcap", resolutionNs: p.unitNs}
	// The upper bits give the length of frame check sequences.
	p.link = p.facts.linkIndex(int(order.Uint32(head[20:]) & 0xffff))
	return p, s.skip(24)
}

func (p *pcap) about() *captureFacts { return &p.facts }

func (p *pcap) next(packet *packet) error {
	head, err := p.source.Peek(16)
	if err != nil {
		if errors.Is(err, io.EOF) && len(head) > 0 {
			return cutOff(err)
		}
		return err
	}
	var seconds, fraction, captured, wire uint32
	if p.big {
		seconds, fraction = binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
		captured, wire = binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
	} else {
		seconds, fraction = binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
		captured, wire = binary.LittleEndian.Uint32(head[8:]), binary.LittleEndian.Uint32(head[12:])
	}
	if captured > longestPacket {
		return &stopError{stoppedDamaged, fmt.Sprintf("a packet claims %d bytes", captured)}
	}
	packet.atNs = int64(seconds)*1e9 + int64(fraction)*p.unitNs
	packet.link = p.link
	packet.wireLength = int(max(wire, captured))
	p.facts.links[p.link].packets++
	if err := p.source.skip(16); err != nil {
		return err
	}
	packet.data, err = p.source.take(int(captured))
	return err
}

// take returns and consumes the next n bytes; if they exceed the window, it returns only the start.
func (s *source) take(n int) ([]byte, error) {
	if n > s.Size() {
		start, err := s.Peek(minimumKept)
		if err != nil {
			return nil, cutOff(err)
		}
		kept := append([]byte(nil), start...)
		return kept, s.skip(int64(n))
	}
	data, err := s.Peek(n)
	if err != nil {
		return nil, cutOff(err)
	}
	_, err = s.Discard(n)
	return data, err
}

// minimumKept is how much of a packet longer than the window is kept: plenty for its headers and the first DNS message.
const minimumKept = 4096
