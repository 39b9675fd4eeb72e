package evidence

import (
	"bufio"
	"errors"
	"io"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// skipped counts packets that are not examined, by reason.
type skipped struct {
	UnknownLinkType uint64 `json:"unknown_link_type"`
	NotIP           uint64 `json:"not_ip"`
	OtherProtocol   uint64 `json:"other_protocol"`
	LaterFragment   uint64 `json:"later_fragment"`
	Malformed       uint64 `json:"malformed"`
	NotDNS          uint64 `json:"not_dns"`
	MulticastDNS    uint64 `json:"multicast_dns"`
}

// Analyzer follows the packets of one capture. It is not safe for concurrent use.
type Analyzer struct {
	total       party
	totalSeries *series
	series      *seriesSet
	servers     map[dnswire.Endpoint]*server
	serverPort  [1 << 16]bool
	// In-flight queries and connections left by evicted servers and clients.
	leftOutServer server
	leftOutClient client
	seriesMade    int
	clients       map[dnswire.Address]*client
	exchanges     *exchanges
	recent        recentAnswers
	candidates    *candidates
	confirmed     int
	names         nameTable
	flows         *flowTable
	streams       uint32
	tcp           tcpTotals
	forwarding    map[serverPair]*forwarding
	slowest       top[row]

	unansweredRows []row
	skipped        skipped
	csv            *bufio.Writer
	csvError       error

	current   delivery
	onMessage func([]byte)

	nowNs                   int64
	firstNs, lastNs         int64
	packets, cut, fragments uint64
	stepsBack, disordered   uint64
	encrypted               uint64
	namesUnreadable         uint64 // queries
	tunnelled               uint64 // packets
	ended                   bool

	serversEvicted, clientsEvicted, flowsEvicted, gaveUp uint64
	forwardingsLost                                      bool
}

// NewAnalyzer creates an analyzer whose report has rows for at most slowest queries; if csv is not nil, every query is
// written to it as a line.
func NewAnalyzer(slowest int, csv io.Writer) *Analyzer {
	a := &Analyzer{
		series: newSeriesSet(), servers: map[dnswire.Endpoint]*server{}, clients: map[dnswire.Address]*client{},
		exchanges: newExchanges(), candidates: newCandidates(), flows: newFlowTable(),
		names: nameTable{byHash: map[uint64]*name{}}, forwarding: map[serverPair]*forwarding{},
		slowest: top[row]{limit: slowest},
	}
	a.totalSeries = a.series.add(nil)
	a.totalSeries.party = &a.total
	a.tcp.longest.limit, a.tcp.idlest.limit, a.tcp.lingering.limit = maxSessions, maxSessions, maxSessions
	a.serverPort[53] = true
	a.onMessage = a.streamMessage
	if csv != nil {
		a.csv = bufio.NewWriterSize(csv, 1<<16)
		a.writeCSVHeader()
	}
	return a
}

// packet handles one packet, in the order of the file.
func (a *Analyzer) packet(p *packet, linkType int) {
	a.clock(p.atNs)
	if p.wireLength > len(p.data) {
		a.cut++
	}
	etherType, network, readable := networkLayer(linkType, p.data)
	if !readable {
		a.skipped.UnknownLinkType++
		return
	}
	etherType, network = stripVLAN(etherType, network)
	a.network(etherType, network, p.atNs, true)
}

// network handles a packet from its IP header on; one in a tunnel only if mayTunnel, so that nested tunnels end.
func (a *Analyzer) network(etherType uint16, network []byte, ns int64, mayTunnel bool) {
	var segment dnswire.Segment
	if !dnswire.ParseIP(etherType, network, &segment) {
		facts := inspectIP(etherType, network)
		if inner, packet, ok := ipInIP(facts); ok && mayTunnel {
			a.tunnelled++
			a.network(inner, packet, ns, false)
			return
		}
		a.notSegment(facts)
		return
	}
	if etherType == dnswire.EtherTypeIPv4 && network[6]&0x20 != 0 || etherType == dnswire.EtherTypeIPv6 && network[6] == 44 {
		if inspectIP(etherType, network).fragment {
			a.fragments++
		}
	}
	if segment.Protocol == dnswire.ProtocolTCP {
		a.segment(&segment, ns)
		return
	}
	if inner, packet, ok := inTunnel(&segment); ok && mayTunnel {
		a.tunnelled++
		a.network(inner, packet, ns, false)
		return
	}
	a.datagram(&segment, ns)
}

// clock follows the file's time, which can step back.
func (a *Analyzer) clock(ns int64) {
	if a.packets == 0 {
		a.firstNs, a.nowNs = ns, ns
	} else if ns < a.lastNs-1e9 {
		a.stepsBack++
	}
	if ns < a.nowNs-1e6 {
		a.disordered++
	}
	a.packets++
	a.lastNs = ns
	a.firstNs = min(a.firstNs, ns)
	if ns > a.nowNs {
		a.nowNs = ns
		a.expire()
		a.fallAsleep()
	}
}

// notSegment counts packets that hold neither a UDP datagram nor a TCP segment.
func (a *Analyzer) notSegment(facts ipFacts) {
	if facts.fragment {
		a.fragments++
	}
	switch {
	case !facts.isIP:
		a.skipped.NotIP++
	case facts.laterFragment:
		a.skipped.LaterFragment++
	case facts.protocol == dnswire.ProtocolTCP || facts.protocol == dnswire.ProtocolUDP:
		a.skipped.Malformed++
	default:
		a.skipped.OtherProtocol++
		a.unreachable(facts)
	}
}

// unreachable counts ICMP errors that quote a packet to a DNS server.
func (a *Analyzer) unreachable(facts ipFacts) {
	var quoted dnswire.Segment
	if !quotedSegment(facts, &quoted) {
		return
	}
	to := a.knownServer(quoted.Destination)
	if to == nil {
		return
	}
	a.total.counts.ICMPUnreachables++
	to.counts.ICMPUnreachables++
	if from := a.clients[quoted.Source.Address]; from != nil {
		from.counts.ICMPUnreachables++
	}
}

// Ports of multicast name resolution, whose answers go elsewhere.
const (
	portMDNS  = 5353
	portLLMNR = 5355
)

func multicastPort(port uint16) bool { return port == portMDNS || port == portLLMNR }

// datagram handles one UDP datagram.
func (a *Analyzer) datagram(s *dnswire.Segment, ns int64) {
	var m message
	if !parseMessage(s.Payload, &m) || m.opcode != 0 {
		if isDNSPort(s.Source.Port) || isDNSPort(s.Destination.Port) {
			a.skipped.Malformed++
		} else {
			a.skipped.NotDNS++
		}
		return
	}
	t := transport{client: s.Source, server: s.Destination}
	if m.response {
		t = transport{client: s.Destination, server: s.Source}
	}
	if to := a.knownServer(t.server); to != nil {
		if m.response {
			a.answer(t, to, &m, ns)
		} else {
			a.query(t, to, &m, ns)
		}
		return
	}
	switch {
	case multicastPort(s.Source.Port) || multicastPort(s.Destination.Port):
		a.skipped.MulticastDNS++
	case m.response:
		if to := a.confirm(t, &m); to != nil {
			a.replay(to)
			a.answer(t, to, &m, ns)
			return
		}
		a.skipped.NotDNS++
	case len(s.Payload) == s.PayloadLength && certainlyQuery(s.Payload, &m):
		a.candidates.add(t, &m, ns)
	default:
		a.skipped.NotDNS++
	}
}

// end finalizes all counts after the last packet.
func (a *Analyzer) end() {
	a.ended = true
	for a.flows.oldest != noSlot {
		a.finish(a.flows.oldest)
	}
	for a.exchanges.oldest != noSlot {
		a.unanswered(&a.exchanges.slots[a.exchanges.oldest])
	}
	if a.csv != nil {
		a.csvError = errors.Join(a.csvError, a.csv.Flush())
	}
}
