package dns

import (
	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/sockdiag"
)

// idleMS is the time without data from which a connection counts as idle; the catalogue says so too.
const idleMS = 1000

// tcpServer is one address of a DNS server.
type tcpServer struct {
	server                            *dnsServer
	backlogSlot, dropSlot             batch.Slot
	overflowSlot, closeSlot, idleSlot batch.Slot
	found                             int // how well the listening sockets of this tick match
	backlog, drops, lastDrops         uint64
	dropsKnown                        bool
	backlogFor                        int   // ticks with a backlog until now
	triggered                         int64 // when
	closeWait, idle                   int
}

// How well a listening socket matches an address: the best matches receive its connections.
const (
	noListener    = iota
	otherWildcard // [::] for an IPv4 address
	ownWildcard
	exactListener
)

func newTCPServer(registry *sampler.Registry, server *dnsServer) *tcpServer {
	series := func(metric uint32) batch.Slot { return registry.Series(server.Resource(), metric) }
	return &tcpServer{
		server: server, backlogSlot: series(catalogue.DNSAcceptBacklog), dropSlot: series(catalogue.DNSListenDrops),
		overflowSlot: series(catalogue.DNSListenOverflows), closeSlot: series(catalogue.DNSTcpCloseWait), idleSlot: series(catalogue.DNSTcpIdle),
	}
}

// listeningSocket counts a listening socket for the servers that it serves.
func (n *tcpNamespace) listeningSocket(row *sockdiag.TCP) {
	for _, server := range n.servers {
		fit := server.fits(&row.Local)
		if fit == noListener || fit < server.found {
			continue
		}
		if fit > server.found {
			server.found, server.backlog, server.drops = fit, 0, 0
		}
		server.backlog += uint64(row.ReceiveQueue) // with SO_REUSEPORT there are several
		server.drops += uint64(row.Drops)
	}
}

func (s *tcpServer) fits(local *dnswire.Endpoint) int {
	key := &s.server.Key.Endpoint
	switch {
	case local.Port != key.Port:
		return noListener
	case local.Address == key.Address:
		return exactListener
	case !local.Address.IsWildcard():
		return noListener
	case isIPv4(&local.Address) == isIPv4(&key.Address):
		return ownWildcard
	case isIPv4(&local.Address):
		return noListener
	}
	return otherWildcard
}

// isIPv4 distinguishes an IPv4 address, mapped as all are here, from an IPv6 one.
func isIPv4(address *dnswire.Address) bool {
	return address[10] == 0xff && address[11] == 0xff && [10]byte(address[:10]) == [10]byte{}
}

// recordListening writes the accept queue and requests a diagnosis if connections stay in it. It reports whether
// connections were dropped, or are counted for the first time.
func (s *tcpServer) recordListening(tick sampler.Tick, recorder *sampler.Recorder) (news bool) {
	if s.found == noListener { // no TCP
		s.backlogFor = 0
		return false
	}
	recorder.Set(s.backlogSlot, float64(s.backlog))
	recorder.Delta(s.dropSlot, s.drops)
	news = !s.dropsKnown || s.drops != s.lastDrops
	s.lastDrops, s.dropsKnown = s.drops, true
	if s.backlog == 0 {
		s.backlogFor = 0
		return news
	}
	s.backlogFor++
	if now := tick.EndUS(); s.backlogFor >= backlogTicks && now-s.triggered >= sampler.TriggerEveryUS {
		s.triggered = now
		s.server.WantNames()
		recorder.Trigger(s.server.Subject, "accept_backlog", now)
	}
	return news
}

// connection counts a connection for the server that it reached, and for the process that opened it to send queries.
// Within one machine these are two sockets, one of each.
func (n *tcpNamespace) connection(row *sockdiag.TCP) {
	for _, server := range n.servers {
		if server.server.Key.Endpoint == row.Local {
			server.count(row)
		}
	}
	if row.State != sockdiag.Established {
		return
	}
	for _, asker := range n.askers {
		asker.count(row)
	}
}

func (s *tcpServer) count(row *sockdiag.TCP) {
	if row.State == sockdiag.CloseWait {
		s.closeWait++
		return
	}
	s.server.Connect(&row.Remote.Address)
	accepted := row.Inode != 0
	if accepted && row.ReceiveQueue == 0 && isIdle(row.ReceivedMS, row.SentMS, row.SegmentsReceived, row.SegmentsSent) {
		s.idle++
	}
}

// isIdle reports whether a connection has had no data for over a second and no query is waiting for its answer: queryMS
// and answerMS are how long ago data was last sent in either direction, queries and answers how many segments were. The
// kernel's clock has a resolution of some milliseconds; within one step the order follows from the segments, of which a
// query and a usual answer take one each.
func isIdle(queryMS, answerMS, queries, answers uint32) bool {
	if queryMS <= idleMS || answerMS <= idleMS {
		return false
	}
	return queryMS > answerMS || queryMS == answerMS && queries != answers+1
}

// recordConnections writes the connections of clients; incomplete counts are discarded.
func (s *tcpServer) recordConnections(recorder *sampler.Recorder, complete bool) {
	if !complete || s.found == noListener {
		s.server.RecordConnections(discard{})
		return
	}
	s.server.RecordConnections(recorder)
	recorder.Set(s.closeSlot, float64(s.closeWait))
	recorder.Set(s.idleSlot, float64(s.idle))
}

// discard is a dnscapture.Recorder that discards everything.
type discard struct{}

func (discard) SetAt(int, batch.Slot, float64)                               {}
func (discard) Distribution(int, batch.ResourceID, uint32, *batch.Histogram) {}
func (discard) Trigger(batch.ResourceID, string, int64)                      {}

var _ dnscapture.Recorder = discard{}
