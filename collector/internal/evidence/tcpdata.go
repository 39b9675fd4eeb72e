package evidence

import (
	"encoding/binary"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// data follows sequence numbers and passes on a segment's bytes in order.
func (a *Analyzer) data(f *flow, from int8, s *dnswire.Segment, ns int64) {
	side := &f.sides[from]
	start := s.TCPSequence
	if s.TCPFlags&dnswire.TCPSyn != 0 {
		start++
	}
	if !side.sequenceKnown {
		side.sequenceKnown = true
		side.firstSequence, side.next = s.TCPSequence, start
		if s.TCPFlags&dnswire.TCPSyn == 0 {
			side.firstSequence--
		}
	}
	if s.PayloadLength == 0 || s.TCPFlags&dnswire.TCPRst != 0 {
		return
	}
	ahead := int32(start - side.next)
	switch {
	case ahead < 0:
		// A keepalive repeats at most one byte.
		if s.PayloadLength > 1 && f.state == dnsYes {
			a.eachOf(f, func(p *party) { p.tcp.Retransmissions++ })
		}
		if -int(ahead) >= s.PayloadLength {
			return
		}
	case ahead > 0 && (f.state == dnsYes || f.state == dnsCandidate):
		a.hold(f, from, s, ns)
		return
	}
	if f.state == dnsUnknown {
		a.consider(f, from, s)
	}
	f.lastDataNs = ns
	if f.state != dnsYes && f.state != dnsCandidate {
		side.next = start + uint32(s.PayloadLength)
		return
	}
	a.deliver(f, from, heldSegment{start, s.Payload, s.PayloadLength, ns})
	a.unhold(f, from, ns)
}

// unhold delivers held segments that now fit; the application received them at ns.
func (a *Analyzer) unhold(f *flow, from int8, ns int64) {
	side := &f.sides[from]
	for at := 0; at < len(side.held); {
		segment := side.held[at]
		if int32(segment.sequence-side.next) > 0 {
			at++
			continue
		}
		side.held = append(side.held[:at], side.held[at+1:]...)
		a.flows.heldBytes -= len(segment.payload)
		if f.state == dnsYes {
			a.eachOf(f, func(p *party) { p.tcp.OutOfOrder++ })
		}
		segment.ns = ns
		a.deliver(f, from, segment)
		at = 0
	}
}

// acknowledged stops waiting for bytes that the receiver has acknowledged: they are missing in the file, not in the
// connection.
func (a *Analyzer) acknowledged(f *flow, sender int8, s *dnswire.Segment) {
	side := &f.sides[sender]
	if len(side.held) == 0 || s.TCPFlags&dnswire.TCPAck == 0 {
		return
	}
	for _, segment := range side.held {
		if int32(s.TCPAcknowledgment-segment.sequence) > 0 {
			a.flushSide(f, sender)
			return
		}
	}
}

// consider examines the first data of a connection on a port that is not known for DNS: one complete query, or it is
// not DNS.
func (a *Analyzer) consider(f *flow, from int8, s *dnswire.Segment) {
	f.state = dnsNot
	if f.clientSide >= 0 && f.clientSide != from || len(s.Payload) < 2+dnswire.HeaderLength {
		return
	}
	length := int(binary.BigEndian.Uint16(s.Payload))
	var m message
	if len(s.Payload) < 2+length || !parseMessage(s.Payload[2:2+length], &m) || !certainlyQuery(s.Payload[2:2+length], &m) {
		return
	}
	f.clientSide = from
	f.state = dnsCandidate
}

// deliver passes bytes to the DNS reader of a side.
func (a *Analyzer) deliver(f *flow, from int8, segment heldSegment) {
	side := &f.sides[from]
	if side.stream == nil {
		stream := a.flows.stream(side)
		if f.tally.startSeen && segment.sequence == side.firstSequence+1 {
			stream.Reset(segment.sequence)
		}
	}
	if int32(segment.sequence-side.next) > 0 && f.state == dnsYes {
		a.eachOf(f, func(p *party) { p.tcp.Gaps++ })
	}
	if end := segment.sequence + uint32(segment.length); int32(end-side.next) > 0 {
		side.next = end
	}
	a.current = delivery{f, from, segment.ns}
	side.stream.Add(segment.sequence, segment.payload, segment.length, a.onMessage)
}

// delivery is the context of onMessage, created once so that following a stream allocates nothing.
type delivery struct {
	flow *flow
	from int8
	ns   int64
}

// streamMessage handles the start of one message of a TCP stream.
func (a *Analyzer) streamMessage(start []byte) {
	f := a.current.flow
	var m message
	if !parseMessage(start, &m) || m.opcode != 0 || m.response == (a.current.from == f.clientSide) {
		return
	}
	t := transport{f.endpoint(f.clientSide), f.endpoint(1 - f.clientSide), f.tally, f.number + 1}
	switch {
	case f.state == dnsCandidate && !m.response:
		a.candidates.add(t, &m, a.current.ns)
	case f.state == dnsCandidate:
		if to := a.confirm(t, &m); to != nil {
			a.adopt(f, to)
			a.replay(to)
			a.answer(t, to, &m, a.current.ns)
		}
	case !m.response:
		a.query(t, f.server, &m, a.current.ns)
	default:
		if f.sides[f.clientSide].finNs != 0 {
			f.tally.afterClose++
			a.eachOf(f, func(p *party) { p.tcp.AnsweredAfterClose++ })
		}
		a.answer(t, f.server, &m, a.current.ns)
	}
}
