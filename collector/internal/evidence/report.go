package evidence

import (
	"net/netip"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// Schema names the format of the report.
const Schema = "jitterscope-evidence/1"

const (
	maxReported    = 256
	maxMostAsked   = 1000
	maxOtherNames  = 200
	kindReport     = "report"
	recognisedPort = "port 53"
	recognisedText = "content"
)

// microseconds keeps nanoseconds as a fraction.
type microseconds float64

func us(ns int64) microseconds { return microseconds(ns) / 1000 }

// maybeUs is null if there is no time.
func maybeUs(ns int64, known bool) *microseconds {
	if !known {
		return nil
	}
	value := us(ns)
	return &value
}

// sumUs is for sums, which can exceed the range of times.
func sumUs(ns float64, known bool) *microseconds {
	if !known {
		return nil
	}
	value := microseconds(ns / 1000)
	return &value
}

// Report is the last line of the output; README.md explains its keys.
type Report struct {
	Kind           string             `json:"kind"`
	Schema         string             `json:"schema"`
	File           fileReport         `json:"file"`
	Totals         totalsReport       `json:"totals"`
	Servers        []serverReport     `json:"servers"`
	ServersLeftOut int                `json:"servers_left_out"`
	Clients        []clientReport     `json:"clients"`
	ClientsLeftOut int                `json:"clients_left_out"`
	Ports          []portReport       `json:"ports"`
	Names          namesReport        `json:"names"`
	Queries        queriesReport      `json:"queries"`
	Unanswered     unansweredReport   `json:"unanswered"`
	Endpoints      []string           `json:"endpoints"`
	Addresses      []string           `json:"addresses"`
	Texts          []string           `json:"texts"`
	TCP            tcpReport          `json:"tcp"`
	Forwarding     []forwardingReport `json:"forwarding"`
	Series         seriesReport       `json:"series"`
	CannotTell     []cannotTell       `json:"cannot_tell"`
}

type fileReport struct {
	Format         string        `json:"format"`
	Compression    *string       `json:"compression"`
	Bytes          int64         `json:"bytes"`
	InflatedBytes  int64         `json:"inflated_bytes"`
	Packets        uint64        `json:"packets"`
	CutPackets     uint64        `json:"cut_packets"`
	FirstAtUs      *microseconds `json:"first_at_us"`
	LastAtUs       *microseconds `json:"last_at_us"`
	ResolutionNs   int64         `json:"timestamp_resolution_ns"`
	LinkTypes      []linkReport  `json:"link_types"`
	Skipped        skipped       `json:"skipped"`
	IPFragments    uint64        `json:"ip_fragments"`
	Tunnelled      uint64        `json:"tunnelled_packets"`
	ReportedDrops  *int64        `json:"reported_drops"`
	ClockStepsBack uint64        `json:"clock_steps_back"`
	Disordered     uint64        `json:"disordered_packets"`
	Stopped        *string       `json:"stopped"`
}

type linkReport struct {
	Number   int    `json:"number"`
	Name     string `json:"name"`
	Packets  int64  `json:"packets"`
	Readable bool   `json:"readable"`
}

type latencyReport struct {
	Count   uint64        `json:"count"`
	SumUs   *microseconds `json:"sum_us"`
	MinUs   *microseconds `json:"min_us"`
	P50Us   *microseconds `json:"p50_us"`
	P90Us   *microseconds `json:"p90_us"`
	P99Us   *microseconds `json:"p99_us"`
	MaxUs   *microseconds `json:"max_us"`
	Buckets bucketsReport `json:"buckets"`
}

type bucketsReport struct {
	Bucket []uint16 `json:"bucket"`
	Count  []uint32 `json:"count"`
}

func latencyOf(h *histogram) latencyReport {
	known := h.count > 0
	r := latencyReport{
		Count: h.count, SumUs: sumUs(h.sumNs, known), MinUs: maybeUs(h.minNs, known), MaxUs: maybeUs(h.maxNs, known),
		P50Us: maybeUs(h.quantileNs(0.5), known), P90Us: maybeUs(h.quantileNs(0.9), known), P99Us: maybeUs(h.quantileNs(0.99), known),
		Buckets: bucketsReport{make([]uint16, len(h.entries)), make([]uint32, len(h.entries))},
	}
	for i, entry := range h.entries {
		r.Buckets.Bucket[i], r.Buckets.Count[i] = entry.bucket, entry.count
	}
	return r
}

type totalsReport struct {
	counts
	Latency     latencyReport `json:"latency"`
	Servers     int           `json:"servers"`
	Clients     int           `json:"clients"`
	InFlightMax int64         `json:"queries_in_flight_max"`
}

type serverReport struct {
	counts
	Endpoint    int           `json:"endpoint"`
	Address     string        `json:"address"`
	Port        uint16        `json:"port"`
	Recognised  string        `json:"recognised"`
	Clients     int64         `json:"clients"`
	Latency     latencyReport `json:"latency"`
	UDPLatency  latencyReport `json:"udp_latency"`
	TCPFirst    latencyReport `json:"tcp_first_latency"`
	TCPLater    latencyReport `json:"tcp_later_latency"`
	InFlightMax int64         `json:"queries_in_flight_max"`
	TCP         tcpCounts     `json:"tcp"`
}

type clientReport struct {
	counts
	Address string        `json:"address"`
	Names   int64         `json:"names"`
	Latency latencyReport `json:"latency"`
	TCP     tcpCounts     `json:"tcp"`
}

type portReport struct {
	Port       uint16 `json:"port"`
	Protocol   string `json:"protocol"`
	Queries    uint64 `json:"queries"`
	Recognised string `json:"recognised"`
}

type forwardingReport struct {
	Server        int           `json:"server"`
	Upstream      int           `json:"upstream"`
	Queries       uint64        `json:"queries"`
	Total         latencyReport `json:"total"`
	BeforeForward latencyReport `json:"before_forward"`
	UpstreamTime  latencyReport `json:"upstream_time"`
	OwnTime       latencyReport `json:"own_time"`
}

type cannotTell struct {
	About   string `json:"about"`
	Because string `json:"because"`
}

// table numbers values in the order of their first use.
type table[K comparable] struct {
	index map[K]int
	texts []string
	text  func(K) string
}

func newTable[K comparable](text func(K) string) *table[K] {
	return &table[K]{index: map[K]int{}, texts: []string{}, text: text}
}

func (t *table[K]) of(key K) int {
	at, ok := t.index[key]
	if !ok {
		at = len(t.texts)
		t.index[key] = at
		t.texts = append(t.texts, t.text(key))
	}
	return at
}

func addressText(address dnswire.Address) string { return netip.AddrFrom16(address).Unmap().String() }

func endpointText(endpoint dnswire.Endpoint) string {
	return netip.AddrPortFrom(netip.AddrFrom16(endpoint.Address).Unmap(), endpoint.Port).String()
}

// tables are what the report's indexes refer to.
type tables struct {
	endpoints *table[dnswire.Endpoint]
	addresses *table[dnswire.Address]
	texts     *table[string]
}

func newTables() *tables {
	return &tables{newTable(endpointText), newTable(addressText), newTable(func(text string) string { return text })}
}

// name is the index of a question's text, -1 if it is not known.
func (t *tables) name(text string) int {
	if text == "" {
		return -1
	}
	return t.texts.of(text)
}
