package evidence

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// capture builds classic pcap files.
type capture struct {
	bytes.Buffer
}

func newCapture(link uint32) *capture {
	c := &capture{}
	header := make([]byte, 24)
	binary.LittleEndian.PutUint32(header, magicNanoseconds)
	binary.LittleEndian.PutUint16(header[4:], 2)
	binary.LittleEndian.PutUint16(header[6:], 4)
	binary.LittleEndian.PutUint32(header[16:], 262144)
	binary.LittleEndian.PutUint32(header[20:], link)
	c.Write(header)
	return c
}

func (c *capture) add(ns int64, frame []byte) *capture {
	header := make([]byte, 16)
	binary.LittleEndian.PutUint32(header, uint32(ns/1e9))
	binary.LittleEndian.PutUint32(header[4:], uint32(ns%1e9))
	binary.LittleEndian.PutUint32(header[8:], uint32(len(frame)))
	binary.LittleEndian.PutUint32(header[12:], uint32(len(frame)))
	c.Write(header)
	c.Write(frame)
	return c
}

// hostPort is a short way for tests to write an endpoint.
func hostPort(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }

// ipv4 builds a raw IPv4 packet.
func ipv4(from, to netip.AddrPort, protocol byte, transport []byte) []byte {
	packet := make([]byte, 20, 20+len(transport))
	packet[0] = 0x45
	binary.BigEndian.PutUint16(packet[2:], uint16(20+len(transport)))
	packet[8], packet[9] = 64, protocol
	source, destination := from.Addr().As4(), to.Addr().As4()
	copy(packet[12:], source[:])
	copy(packet[16:], destination[:])
	return append(packet, transport...)
}

func udp(from, to netip.AddrPort, payload []byte) []byte {
	header := make([]byte, 8)
	binary.BigEndian.PutUint16(header, from.Port())
	binary.BigEndian.PutUint16(header[2:], to.Port())
	binary.BigEndian.PutUint16(header[4:], uint16(8+len(payload)))
	return ipv4(from, to, dnswire.ProtocolUDP, append(header, payload...))
}

func tcp(from, to netip.AddrPort, flags byte, sequence, acknowledged uint32, payload []byte) []byte {
	header := make([]byte, 20)
	binary.BigEndian.PutUint16(header, from.Port())
	binary.BigEndian.PutUint16(header[2:], to.Port())
	binary.BigEndian.PutUint32(header[4:], sequence)
	binary.BigEndian.PutUint32(header[8:], acknowledged)
	header[12], header[13] = 5<<4, flags
	return ipv4(from, to, dnswire.ProtocolTCP, append(header, payload...))
}

// answerTo turns a query into its answer with a response code.
func answerTo(query []byte, rcode byte) []byte {
	answer := bytes.Clone(query)
	answer[2] |= 0x80
	answer[3] = answer[3]&0xf0 | rcode
	return answer
}

func analyzeBytes(t testing.TB, data []byte) *Report {
	t.Helper()
	report, err := Analyze(bytes.NewReader(data), int64(len(data)), Options{Limits: DefaultLimits, Slowest: 100})
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, report)
	return report
}

// consistent checks the invariants of every report.
func consistent(t testing.TB, r *Report) {
	t.Helper()
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	c := r.Totals.counts
	if c.Queries != c.Answers+c.Unanswered || c.Queries != c.UDPQueries+c.TCPQueries ||
		c.Answers != c.NoError+c.NXDomain+c.ServFail+c.Refused+c.Other || c.Answers != r.Totals.Latency.Count || c.UnansweredLate > c.Unanswered {
		t.Fatalf("totals %+v, latency of %d", c, r.Totals.Latency.Count)
	}
	var inBuckets uint64
	for _, count := range r.Totals.Latency.Buckets.Count {
		inBuckets += uint64(count)
	}
	var queries, answers, opened, closed, unanswered, servfail uint64
	total := r.Series.Entries[0]
	for i := range total.AtUs {
		queries += uint64(total.Queries[i])
		answers += uint64(total.Answers[i])
		unanswered += uint64(total.Unanswered[i])
		servfail += uint64(total.ServFail[i])
		opened += uint64(total.Opened[i])
		closed += uint64(total.Closed[i])
		if i > 0 && total.AtUs[i] <= total.AtUs[i-1] || total.InFlightEnd[i] < 0 || total.ConnectionsEnd[i] < 0 || total.IdleEnd[i] < 0 ||
			total.IdleEnd[i] > total.ConnectionsMax[i] || total.InFlightMax[i] < total.InFlightEnd[i] || total.ConnectionsMax[i] < total.ConnectionsEnd[i] {
			t.Fatalf("tick %d of %+v", i, total)
		}
	}
	if inBuckets != c.Answers || queries != c.Queries || answers != c.Answers || unanswered != c.Unanswered || servfail != c.ServFail {
		t.Fatalf("%d in buckets, %d and %d in ticks, totals %+v", inBuckets, queries, answers, c)
	}
	if d := total.Distribution; d != nil {
		perTick := make([]uint32, len(total.AtUs))
		for i, row := range d.Row {
			perTick[row] += d.Count[i]
		}
		if !slices.Equal(perTick, total.Answers) {
			t.Fatalf("distribution of %v for answers %v", perTick, total.Answers)
		}
	}
	tcp := r.TCP.tcpCounts
	ended := tcp.ClosedByClient + tcp.ClosedByServer + tcp.ResetByClient + tcp.ResetByServer + tcp.Refused + tcp.NoAnswerToSyn
	if ended > tcp.Connections || tcp.Opened > tcp.Connections || tcp.Connections > uint64(r.TCP.Streams) || closed > opened {
		t.Fatalf("tcp %+v of %d streams, %d opened, %d closed", tcp, r.TCP.Streams, opened, closed)
	}
}
