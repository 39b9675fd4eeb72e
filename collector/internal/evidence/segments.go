package evidence

import (
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

const (
	portTLS     = 853 // DNS over TLS
	idleAfterNs = 1e9
	// halfClosedFromNs: a server that answers a FIN immediately is not lingering.
	halfClosedFromNs = 100e6
)

// segment handles one TCP segment.
func (a *Analyzer) segment(s *dnswire.Segment, ns int64) {
	key, from := flowKeyOf(s)
	slot, known := a.flows.byKey[key]
	opening := s.TCPFlags&(dnswire.TCPSyn|dnswire.TCPAck) == dnswire.TCPSyn
	var lastUsedNs int64
	if known && opening && a.flows.slots[slot].replacedBy(from, s.TCPSequence) {
		lastUsedNs = a.flows.slots[slot].lastNs
		a.finish(slot)
		known = false
	}
	if !known {
		if len(a.flows.byKey) >= maxFlows {
			a.flowsEvicted++
			a.finish(a.flows.oldest)
		}
		slot = a.flows.add(key)
		f := &a.flows.slots[slot]
		f.number = a.streams
		a.streams++
		if s.Source.Port == portTLS || s.Destination.Port == portTLS {
			a.encrypted++
		}
		f.firstNs, f.lastNs, f.portLastUsedNs = ns, ns, lastUsedNs
		f.tally = &flowTally{startSeen: opening}
	}
	f := &a.flows.slots[slot]
	a.seen(f, from, s, ns)
	a.flows.touch(slot)
	a.whoServes(f, s)
	if !opening && s.TCPFlags&dnswire.TCPRst == 0 && !f.established {
		f.established = true
		a.opened(f, ns)
	}
	a.acknowledged(f, 1-from, s)
	a.data(f, from, s, ns)
	a.closing(f, from, s, ns)
}

// replacedBy is Wireshark's rule for a reused port: a SYN with a different initial sequence number. One with the same
// number is a retransmission, or a copy from another interface.
func (f *flow) replacedBy(from int8, sequence uint32) bool {
	side := &f.sides[from]
	return side.sequenceKnown && side.firstSequence != sequence
}

// seen records times and which side is the client.
func (a *Analyzer) seen(f *flow, from int8, s *dnswire.Segment, ns int64) {
	f.packets++
	if gap := ns - f.lastNs; gap > f.longestIdleNs && !f.closed {
		f.longestIdleNs = gap
	}
	f.lastNs = ns
	if f.idle {
		f.idle = false
		a.idling(f, -1, ns)
	}
	switch s.TCPFlags & (dnswire.TCPSyn | dnswire.TCPAck) {
	case dnswire.TCPSyn:
		f.clientSide = from
	case dnswire.TCPSyn | dnswire.TCPAck:
		f.clientSide = 1 - from
	}
}

// whoServes recognizes connections to DNS servers by port, or by what was recognized before.
func (a *Analyzer) whoServes(f *flow, s *dnswire.Segment) {
	if f.state == dnsYes || !a.serverPort[s.Source.Port] && !a.serverPort[s.Destination.Port] {
		return
	}
	sides := [2]int8{0, 1}
	if f.clientSide >= 0 {
		sides = [2]int8{1 - f.clientSide, 1 - f.clientSide}
	} else if s.Destination == f.key.high {
		sides = [2]int8{1, 0}
	}
	for _, side := range sides {
		if to := a.knownServer(f.endpoint(side)); to != nil {
			f.clientSide = 1 - side
			a.adopt(f, to)
			return
		}
	}
}

// adopt counts a connection as one to a DNS server.
func (a *Analyzer) adopt(f *flow, to *server) {
	f.state = dnsYes
	f.server = to
	f.client = a.clientAt(f.endpoint(f.clientSide).Address)
	to.clients.add(f.client.hash)
	reused := f.portLastUsedNs != 0
	a.eachOf(f, func(p *party) {
		p.tcp.Connections++
		if f.tally.startSeen {
			p.tcp.Opened++
		}
		if reused {
			p.tcp.PortReuses++
			if f.firstNs-f.portLastUsedNs < 60e9 {
				p.tcp.PortReuseWithin60s++
			}
		}
	})
	if reused {
		a.tcp.portReuseInterval.add(observe(f.firstNs - f.portLastUsedNs))
	}
	if f.established && !f.closed {
		a.opened(f, f.lastNs)
	}
}

// opened adds an established connection to the gauges.
func (a *Analyzer) opened(f *flow, ns int64) {
	if f.state != dnsYes || f.closed {
		return
	}
	a.eachOf(f, func(p *party) { p.tcp.opening(1) })
	a.eachSeries(f.server, func(s *series) {
		a.series.at(s, ns).opened++
		a.series.gauges(s, ns)
	})
}

func (a *Analyzer) idling(f *flow, change, ns int64) {
	if f.state != dnsYes || !f.established || f.closed {
		return
	}
	a.eachOf(f, func(p *party) { p.tcp.idling(change) })
	a.eachSeries(f.server, func(s *series) { a.series.gauges(s, ns) })
}

// fallAsleep marks connections without a packet for too long as idle; they are the oldest in the table's order.
func (a *Analyzer) fallAsleep() {
	for slot := a.flows.awake; slot != noSlot; slot = a.flows.awake {
		f := &a.flows.slots[slot]
		if f.lastNs > a.nowNs-idleAfterNs {
			return
		}
		if !f.closed {
			f.idle = true
			a.idling(f, 1, f.lastNs+idleAfterNs)
		}
		a.flows.awake = f.newer
	}
}

// closing records FIN and RST, and removes a connection that both sides ended from the gauges.
func (a *Analyzer) closing(f *flow, from int8, s *dnswire.Segment, ns int64) {
	if s.TCPFlags&dnswire.TCPFin != 0 && f.sides[from].finNs == 0 {
		f.sides[from].finNs = max(ns, 1)
	}
	if s.TCPFlags&dnswire.TCPRst != 0 && f.resetNs == 0 {
		f.resetNs, f.resetBy = max(ns, 1), from
	}
	if f.closed || f.resetNs == 0 && (f.sides[0].finNs == 0 || f.sides[1].finNs == 0) {
		return
	}
	a.flush(f)
	if f.state == dnsYes && f.established {
		a.eachOf(f, func(p *party) { p.tcp.opening(-1) })
		a.eachSeries(f.server, func(s *series) {
			a.series.at(s, ns).closed++
			a.series.gauges(s, ns)
		})
	}
	f.closed, f.closedNs = true, ns
	if f.resetNs != 0 {
		a.flows.release(f)
	}
}

// eachOf calls do for the whole file, the server and the client of a connection.
func (a *Analyzer) eachOf(f *flow, do func(*party)) {
	do(&a.total)
	do(&f.server.party)
	do(&f.client.party)
}

// heldSegment waits for the bytes before it.
type heldSegment struct {
	sequence uint32
	payload  []byte
	length   int
	ns       int64
}

const (
	maxHeld      = 16
	maxHeldBytes = 4 << 20
)

// hold keeps a segment that arrived before its predecessor.
func (a *Analyzer) hold(f *flow, from int8, s *dnswire.Segment, ns int64) {
	side := &f.sides[from]
	if len(side.held) >= maxHeld || a.flows.heldBytes+len(s.Payload) > maxHeldBytes {
		a.flushSide(f, from)
		a.deliver(f, from, heldSegment{s.TCPSequence, s.Payload, s.PayloadLength, ns})
		return
	}
	a.flows.heldBytes += len(s.Payload)
	side.held = append(side.held, heldSegment{s.TCPSequence, slices.Clone(s.Payload), s.PayloadLength, ns})
}

func (a *Analyzer) flush(f *flow) {
	a.flushSide(f, 0)
	a.flushSide(f, 1)
}

// flushSide stops waiting: the missing bytes are not in the file.
func (a *Analyzer) flushSide(f *flow, from int8) {
	side := &f.sides[from]
	if len(side.held) == 0 {
		return
	}
	held := side.held
	side.held = nil
	slices.SortStableFunc(held, func(x, y heldSegment) int { return int(int32(x.sequence - y.sequence)) })
	for _, segment := range held {
		a.flows.heldBytes -= len(segment.payload)
		a.deliver(f, from, segment)
	}
}
