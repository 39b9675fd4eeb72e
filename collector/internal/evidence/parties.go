package evidence

import (
	"hash/maphash"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// counts are the numbers of queries and answers; README.md says what each means. The field order is that of the output.
type counts struct {
	Queries          uint64 `json:"queries"`
	Answers          uint64 `json:"answers"`
	Unanswered       uint64 `json:"unanswered"`
	UnansweredLate   uint64 `json:"unanswered_late"`
	NoError          uint64 `json:"noerror"`
	NXDomain         uint64 `json:"nxdomain"`
	ServFail         uint64 `json:"servfail"`
	Refused          uint64 `json:"refused"`
	Other            uint64 `json:"other"`
	Truncated        uint64 `json:"truncated"`
	UDPQueries       uint64 `json:"udp_queries"`
	TCPQueries       uint64 `json:"tcp_queries"`
	RepeatedQueries  uint64 `json:"repeated_queries"`
	RepeatedAfter5s  uint64 `json:"repeated_after_5_s"`
	RepeatedAnswers  uint64 `json:"repeated_answers"`
	Copies           uint64 `json:"copies"`
	StrayAnswers     uint64 `json:"stray_answers"`
	ICMPUnreachables uint64 `json:"icmp_unreachable"`
}

// tcpCounts are about connections to DNS servers.
type tcpCounts struct {
	Connections        uint64 `json:"connections"`
	Opened             uint64 `json:"opened"`
	Refused            uint64 `json:"refused"`
	NoAnswerToSyn      uint64 `json:"no_answer_to_syn"`
	ClosedByClient     uint64 `json:"closed_by_client"`
	ClosedByServer     uint64 `json:"closed_by_server"`
	ResetByClient      uint64 `json:"reset_by_client"`
	ResetByServer      uint64 `json:"reset_by_server"`
	OpenAtEnd          uint64 `json:"open_at_end"`
	OpenMax            int64  `json:"open_max"`
	IdleMax            int64  `json:"idle_max"`
	HalfClosed         uint64 `json:"half_closed"`
	AnsweredAfterClose uint64 `json:"answered_after_close"`
	ResetAfterClose    uint64 `json:"reset_after_close"`
	PortReuses         uint64 `json:"port_reuses"`
	PortReuseWithin60s uint64 `json:"port_reuse_within_60_s"`
	Retransmissions    uint64 `json:"retransmissions"`
	OutOfOrder         uint64 `json:"out_of_order"`
	Gaps               uint64 `json:"gaps"`
	open, idle         int64
}

// party is a server, a client or the whole file.
type party struct {
	counts                counts
	tcp                   tcpCounts
	latency               histogram
	inFlight, inFlightMax int64
	gone                  bool // no longer in the table
}

type server struct {
	party
	endpoint                dnswire.Endpoint
	byContent               bool
	udp, tcpFirst, tcpLater histogram
	clients                 distinct
	series                  *series // nil beyond the first maxSeries servers
}

type client struct {
	party
	address dnswire.Address
	hash    uint64
	names   distinct
}

const (
	maxServers   = 4096
	maxByContent = 1024
	maxClients   = 8192
	maxSeries    = 64
)

func isDNSPort(port uint16) bool { return port == 53 }

// serverAt finds or creates the record of a server. When the table is full, the least queried half is evicted.
func (a *Analyzer) serverAt(endpoint dnswire.Endpoint, byContent bool) *server {
	if known, ok := a.servers[endpoint]; ok {
		return known
	}
	if len(a.servers) >= maxServers {
		a.evictServers()
	}
	made := &server{endpoint: endpoint, byContent: byContent}
	if a.seriesMade < maxSeries {
		a.seriesMade++
		made.series = a.series.add(made)
	}
	a.servers[endpoint] = made
	a.serverPort[endpoint.Port] = true
	return made
}

// knownServer is the server at an endpoint, created now if the port is DNS's own; nil if nothing indicates DNS.
func (a *Analyzer) knownServer(endpoint dnswire.Endpoint) *server {
	if isDNSPort(endpoint.Port) {
		return a.serverAt(endpoint, false)
	}
	if !a.serverPort[endpoint.Port] {
		return nil
	}
	return a.servers[endpoint]
}

func (a *Analyzer) clientAt(address dnswire.Address) *client {
	if known, ok := a.clients[address]; ok {
		return known
	}
	if len(a.clients) >= maxClients {
		a.evictClients()
	}
	made := &client{address: address, hash: maphash.Comparable(seed, address)}
	a.clients[address] = made
	return made
}

// flying changes the number of queries in flight.
func (p *party) flying(change int64) {
	p.inFlight += change
	p.inFlightMax = max(p.inFlightMax, p.inFlight)
}

func (t *tcpCounts) opening(change int64) {
	t.open += change
	t.OpenMax = max(t.OpenMax, t.open)
}

func (t *tcpCounts) idling(change int64) {
	t.idle += change
	t.IdleMax = max(t.IdleMax, t.idle)
}
