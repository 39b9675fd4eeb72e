package evidence

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// queryColumns are queries in the order they were sent.
type queryColumns struct {
	Complete   bool           `json:"complete"`
	SentUs     []microseconds `json:"sent_us"`
	Protocol   []uint8        `json:"protocol"`
	ID         []uint16       `json:"id"`
	Server     []int          `json:"server"`
	Client     []int          `json:"client"`
	ClientPort []uint16       `json:"client_port"`
	Name       []int          `json:"name"`
}

type queriesReport struct {
	queryColumns
	LatencyUs []microseconds `json:"latency_us"`
	Result    []int          `json:"result"`
}

type unansweredReport struct{ queryColumns }

// queryResult is QueryResult of ingest.proto.
func queryResult(rcode uint8) int {
	switch rcode {
	case 0:
		return 0
	case 3:
		return 1
	case 2:
		return 2
	case 5:
		return 3
	}
	return 5
}

// columnsOf sorts the rows.
func columnsOf(rows []row, complete bool, t *tables) queryColumns {
	slices.SortStableFunc(rows, func(x, y row) int { return cmp.Compare(x.sentNs, y.sentNs) })
	n := len(rows)
	columns := queryColumns{
		complete, make([]microseconds, n), make([]uint8, n), make([]uint16, n), make([]int, n), make([]int, n), make([]uint16, n), make([]int, n),
	}
	for i, r := range rows {
		columns.SentUs[i], columns.ID[i], columns.Protocol[i] = us(r.sentNs), r.key.id, 17
		if r.key.stream != 0 {
			columns.Protocol[i] = 6
		}
		columns.Server[i], columns.Client[i] = t.endpoints.of(r.key.server), t.addresses.of(r.key.client.Address)
		columns.ClientPort[i], columns.Name[i] = r.key.client.Port, t.name(r.name)
	}
	return columns
}

func (a *Analyzer) queryRows(t *tables) queriesReport {
	rows := make([]row, 0, len(a.slowest.items))
	for _, kept := range a.slowest.items {
		rows = append(rows, kept.item)
	}
	r := queriesReport{columnsOf(rows, !a.slowest.missed, t), make([]microseconds, len(rows)), make([]int, len(rows))}
	for i, row := range rows {
		r.LatencyUs[i], r.Result[i] = us(row.latencyNs), queryResult(row.rcode)
	}
	return r
}

// mostFirst sorts by weight, then by text, so that the same file gives the same report.
func mostFirst[T any](items []T, weight func(T) float64, text func(T) string, limit int) []T {
	slices.SortFunc(items, func(x, y T) int {
		return cmp.Or(cmp.Compare(weight(y), weight(x)), strings.Compare(text(x), text(y)))
	})
	return items[:min(limit, len(items))]
}

func (a *Analyzer) serverRows(t *tables) ([]serverReport, int) {
	all := slices.Collect(maps.Values(a.servers))
	all = slices.DeleteFunc(all, func(s *server) bool { return s.counts.seen() == 0 && s.tcp.Connections == 0 })
	total := len(all)
	rows := []serverReport{}
	for _, s := range mostFirst(all, func(s *server) float64 { return float64(s.counts.Queries) },
		func(s *server) string { return endpointText(s.endpoint) }, maxReported) {
		rows = append(rows, serverReport{
			counts: s.counts, Endpoint: t.endpoints.of(s.endpoint), Address: addressText(s.endpoint.Address), Port: s.endpoint.Port,
			Recognised: s.recognised(), Clients: s.clients.estimate(), Latency: latencyOf(&s.latency), UDPLatency: latencyOf(&s.udp),
			TCPFirst: latencyOf(&s.tcpFirst), TCPLater: latencyOf(&s.tcpLater), InFlightMax: s.inFlightMax, TCP: s.tcp,
		})
	}
	return rows, total - len(rows)
}

func (s *server) recognised() string {
	if s.byContent {
		return recognisedText
	}
	return recognisedPort
}

// seen reports whether any message went to or from a server.
func (c *counts) seen() uint64 { return c.Queries + c.StrayAnswers + c.RepeatedAnswers + c.Copies }

func (a *Analyzer) clientRows() ([]clientReport, int) {
	all := slices.Collect(maps.Values(a.clients))
	total := len(all)
	rows := []clientReport{}
	for _, c := range mostFirst(all, func(c *client) float64 { return float64(c.counts.Queries) },
		func(c *client) string { return addressText(c.address) }, maxReported) {
		rows = append(rows, clientReport{c.counts, addressText(c.address), c.names.estimate(), latencyOf(&c.latency), c.tcp})
	}
	return rows, total - len(rows)
}

func (a *Analyzer) portRows() []portReport {
	type portKey struct {
		port      uint16
		protocol  string
		byContent bool
	}
	queries := map[portKey]uint64{}
	for _, s := range a.servers {
		queries[portKey{s.endpoint.Port, "udp", s.byContent}] += s.counts.UDPQueries
		queries[portKey{s.endpoint.Port, "tcp", s.byContent}] += s.counts.TCPQueries
	}
	rows := []portReport{}
	for key, count := range queries {
		if count > 0 {
			recognised := (&server{byContent: key.byContent}).recognised()
			rows = append(rows, portReport{key.port, key.protocol, count, recognised})
		}
	}
	return mostFirst(rows, func(r portReport) float64 { return float64(r.Queries) }, func(r portReport) string { return r.Protocol }, maxReported)
}

// minForwardedShare is the least share of queries that a server forwards: pairs below it have the same question by
// chance.
const minForwardedShare = 0.01

func (a *Analyzer) forwardingRows(t *tables) []forwardingReport {
	forwarded := map[*server]uint64{}
	for pair, f := range a.forwarding {
		forwarded[pair.server] += f.queries
	}
	rows := []forwardingReport{}
	for pair, f := range a.forwarding {
		if float64(f.queries) < minForwardedShare*float64(forwarded[pair.server]) {
			continue
		}
		rows = append(rows, forwardingReport{
			t.endpoints.of(pair.server.endpoint), t.endpoints.of(pair.upstream.endpoint), f.queries,
			latencyOf(&f.total), latencyOf(&f.beforeForward), latencyOf(&f.upstreamTime), latencyOf(&f.ownTime),
		})
	}
	byEnds := func(r forwardingReport) string {
		return t.endpoints.texts[r.Server] + " " + t.endpoints.texts[r.Upstream]
	}
	return mostFirst(rows, func(r forwardingReport) float64 { return float64(r.Queries) }, byEnds, maxReported)
}
