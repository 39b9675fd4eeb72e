package evidence

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

const (
	startNs = 1_700_000_000_000_000_000
	ms      = int64(time.Millisecond)
	syn     = dnswire.TCPSyn
	fin     = dnswire.TCPFin | dnswire.TCPAck
	rst     = dnswire.TCPRst
	ack     = dnswire.TCPAck
)

func sum(counts []uint32) (total uint32) {
	for _, count := range counts {
		total += count
	}
	return total
}

// TestLingeringConnection is the connection of case 4: the client expires it, the server only acknowledges, answers
// seconds later, and learns that the client has forgotten the connection.
func TestLingeringConnection(t *testing.T) {
	client, server := hostPort("10.0.0.29:46123"), hostPort("172.20.9.11:53")
	query := packedQuery(t, 0x7f12, "storage.googleapis.com.some-ns.svc.cluster.local.")
	answer := answerTo(query, 3)
	stream := withPrefix(query)
	size := uint32(len(stream))
	c := newCapture(linkRaw)
	at := func(offset int64, packet []byte) { c.add(startNs+offset*ms, packet) }
	at(0, tcp(client, server, syn, 99, 0, nil))
	at(0, tcp(server, client, syn|ack, 499, 100, nil))
	at(1, tcp(client, server, ack, 100, 500, stream))
	at(1, tcp(server, client, ack, 500, 100+size, nil))
	at(2001, tcp(client, server, fin, 100+size, 500, nil))
	at(2042, tcp(server, client, ack, 500, 101+size, nil))
	at(8001, tcp(server, client, ack, 500, 101+size, withPrefix(answer)))
	at(8001, tcp(server, client, fin, 500+uint32(len(answer))+2, 101+size, nil))
	at(8001, tcp(client, server, rst, 101+size, 0, nil))
	r := analyzeBytes(t, c.Bytes())
	tcp := r.TCP.tcpCounts
	if tcp.HalfClosed != 1 || tcp.AnsweredAfterClose != 1 || tcp.ResetAfterClose != 1 || tcp.ClosedByClient != 1 || tcp.IdleMax != 1 || tcp.OpenMax != 1 {
		t.Errorf("%+v", tcp)
	}
	if len(r.TCP.Sessions.Lingering) != 1 {
		t.Fatal("not lingering")
	}
	session := r.TCP.Sessions.Lingering[0]
	if session.HalfClosedUs != 6e6 || session.LongestIdleUs != 5959e3 || session.End != endClientFin || session.Queries != 1 || session.AnsweredAfterClose != 1 {
		t.Errorf("%+v", session)
	}
	if r.Totals.NXDomain != 1 || *r.Totals.Latency.MaxUs != 8e6 || r.Servers[0].TCPFirst.Count != 1 {
		t.Errorf("%+v", r.Totals)
	}
	// Idle from 1 s after its last packet until the next one, twice.
	series := r.Series.Entries[1]
	idle := map[int64]int64{}
	for i, atUs := range series.AtUs {
		idle[(atUs*1000-startNs)/ms] = series.IdleEnd[i]
	}
	if idle[1000] != 1 || idle[2000] != 0 || idle[3000] != 1 || idle[8000] != 0 || len(idle) != 5 {
		t.Errorf("idle connections by tick: %v", idle)
	}
}

// TestTimeInsideAForwarder is the 952 ms of case 4: dnsmasq gets a query, forwards it late to its upstream on another
// port, and answers.
func TestTimeInsideAForwarder(t *testing.T) {
	c := newCapture(linkRaw)
	client, forwarder := hostPort("10.0.0.107:39000"), hostPort("172.20.13.4:53")
	own, upstream := hostPort("127.0.0.1:41000"), hostPort("127.0.0.1:10053")
	for i := range int64(20) {
		query := packedQuery(t, uint16(i), fmt.Sprintf("host-%d.some-ns.svc.cluster.local.", i))
		start := startNs + i*2000*ms
		c.add(start, udp(client, forwarder, query))
		c.add(start+952*ms, udp(own, upstream, query))
		c.add(start+955*ms, udp(upstream, own, answerTo(query, 3)))
		c.add(start+956*ms, udp(forwarder, client, answerTo(query, 3)))
	}
	r := analyzeBytes(t, c.Bytes())
	if len(r.Forwarding) != 1 {
		t.Fatalf("%+v", r.Forwarding)
	}
	f := r.Forwarding[0]
	if r.Endpoints[f.Server] != "172.20.13.4:53" || r.Endpoints[f.Upstream] != "127.0.0.1:10053" {
		t.Errorf("from %s to %s", r.Endpoints[f.Server], r.Endpoints[f.Upstream])
	}
	// The first query to port 10053 is recognized only by its answer, and counts all the same.
	if f.Queries != 20 || *f.BeforeForward.MaxUs != 952e3 || *f.UpstreamTime.MinUs != 3e3 || *f.OwnTime.MaxUs != 953e3 || *f.Total.MaxUs != 956e3 {
		t.Errorf("%d queries, before %v, upstream %v, own %v", f.Queries, *f.BeforeForward.MaxUs, *f.UpstreamTime.MinUs, *f.OwnTime.MaxUs)
	}
	if len(r.Ports) != 2 || r.Ports[0].Queries != 20 || r.Ports[1].Queries != 20 {
		t.Errorf("%+v", r.Ports)
	}
}

// TestDisorderBeforeRecognition: packets of two CPUs are some microseconds out of order in the file; queries before the
// first answer still count.
func TestDisorderBeforeRecognition(t *testing.T) {
	c := newCapture(linkRaw)
	server := hostPort("10.0.0.2:10053")
	client := func(i int) netip.AddrPort { return hostPort(fmt.Sprintf("10.0.0.1:%d", 40000+i)) }
	query := packedQuery(t, 7, "example.com.")
	for i := range 10 {
		c.add(startNs+int64(i^1)*2000, udp(client(i), server, query))
	}
	for i := range 10 {
		c.add(startNs+ms+int64(i)*1000, udp(server, client(i), answerTo(query, 0)))
	}
	if r := analyzeBytes(t, c.Bytes()); r.Totals.Queries != 10 || r.Totals.Answers != 10 || r.Totals.StrayAnswers != 0 {
		t.Errorf("%+v", r.Totals.counts)
	}
}

// TestSecondNameserverIsNotForwarding: a client that queries a second server after the first is not a server that
// forwards.
func TestSecondNameserverIsNotForwarding(t *testing.T) {
	c := newCapture(linkRaw)
	client := hostPort("10.0.0.1:40000")
	query := packedQuery(t, 7, "example.com.")
	c.add(startNs, udp(client, hostPort("10.0.0.2:53"), query))
	c.add(startNs+5001*ms, udp(client, hostPort("10.0.0.3:53"), query))
	c.add(startNs+5002*ms, udp(hostPort("10.0.0.3:53"), client, answerTo(query, 0)))
	c.add(startNs+5003*ms, udp(hostPort("10.0.0.2:53"), client, answerTo(query, 0)))
	if r := analyzeBytes(t, c.Bytes()); len(r.Forwarding) != 0 || r.Totals.Answers != 2 {
		t.Errorf("%+v", r.Forwarding)
	}
}

func TestRepeatsCopiesAndStrays(t *testing.T) {
	c := newCapture(linkRaw)
	client, server := hostPort("10.0.0.1:40000"), hostPort("10.0.0.2:53")
	query, other := packedQuery(t, 7, "example.com."), packedQuery(t, 7, "other.com.")
	at := func(offset int64, packet []byte) { c.add(startNs+offset*ms/10, packet) }
	at(0, udp(client, server, query))
	at(1, udp(client, server, query))                  // copy, 0.1 ms later
	at(20000, udp(client, server, query))              // repeated after 2 s
	at(50010, udp(client, server, query))              // after 5.001 s: a new query
	at(50100, udp(server, client, answerTo(other, 0))) // answer to a different question
	at(50200, udp(server, client, answerTo(query, 2)))
	at(50201, udp(server, client, answerTo(query, 2))) // copy
	at(50300, udp(server, client, answerTo(query, 2))) // repeated
	at(50400, udp(server, hostPort("10.0.0.9:1"), answerTo(query, 0)))
	r := analyzeBytes(t, c.Bytes())
	want := counts{
		Queries: 2, Answers: 1, Unanswered: 1, ServFail: 1, UDPQueries: 2, RepeatedQueries: 1, RepeatedAfter5s: 1, RepeatedAnswers: 1,
		Copies: 2, StrayAnswers: 2,
	}
	if r.Totals.counts != want {
		t.Errorf("%+v", r.Totals.counts)
	}
	if *r.Totals.Latency.MaxUs != 19e3 {
		t.Errorf("%v us, from the second query on it is 19 ms", *r.Totals.Latency.MaxUs)
	}
}

// TestReassembly has segments out of order, lost in the capture, and repeated.
func TestReassembly(t *testing.T) {
	client, server := hostPort("10.0.0.1:40000"), hostPort("10.0.0.2:5300")
	c := newCapture(linkRaw)
	var stream []byte
	var starts []int
	for i := range 10 {
		starts = append(starts, len(stream))
		stream = append(stream, withPrefix(packedQuery(t, uint16(i), fmt.Sprintf("name-%d.example.", i)))...)
	}
	at := int64(0)
	add := func(packet []byte) { at++; c.add(startNs+at*ms, packet) }
	part := func(from, to int) { add(tcp(client, server, ack, 100+uint32(from), 500, stream[from:to])) }
	add(tcp(client, server, syn, 99, 0, nil))
	add(tcp(server, client, syn|ack, 499, 100, nil))
	part(0, starts[1])
	answer := withPrefix(answerTo(stream[2:starts[1]], 0))
	add(tcp(server, client, ack, 500, 100+uint32(starts[1]), answer)) // recognized from here on
	part(starts[2]-5, starts[3])                                      // before its predecessor
	part(starts[1], starts[2]-5)
	part(starts[1], starts[2]-5) // again
	part(starts[3], starts[4])
	// Message 4 is not in the file; what follows counts as received once the server acknowledges it.
	part(starts[5], starts[6]+3)
	part(starts[6]+3, starts[8])
	add(tcp(server, client, ack, 500+uint32(len(answer)), 100+uint32(starts[8]), nil))
	part(starts[8], len(stream))
	r := analyzeBytes(t, c.Bytes())
	if r.Totals.Queries != 9 || r.Totals.Answers != 1 || r.Servers[0].Recognised != recognisedText {
		t.Errorf("%+v", r.Totals.counts)
	}
	if r.TCP.OutOfOrder != 1 || r.TCP.Gaps != 1 || r.TCP.Retransmissions != 1 || r.TCP.Connections != 1 {
		t.Errorf("%+v", r.TCP.tcpCounts)
	}
	for i, text := range r.Texts {
		if i == 0 {
			continue
		}
		if text == "name-4.example. A" {
			t.Error("the missing message was found")
		}
	}
}

// TestOtherTrafficIsNotDNS: web and other traffic is not DNS, whatever its bytes look like.
func TestOtherTrafficIsNotDNS(t *testing.T) {
	client, server := hostPort("10.0.0.1:40000"), hostPort("10.0.0.2:443")
	c := newCapture(linkRaw)
	query := packedQuery(t, 7, "example.com.")
	c.add(startNs, udp(client, server, query)) // looks like DNS, but its answer does not
	c.add(startNs+ms, udp(server, client, append(query, 1)))
	odd := answerTo(query, 0)
	odd[len(odd)-6] ^= 1
	c.add(startNs+2*ms, udp(server, client, odd)) // a different question
	c.add(startNs+3*ms, tcp(client, server, syn, 1, 0, nil))
	c.add(startNs+3*ms, tcp(server, client, syn|ack, 1, 2, nil))
	c.add(startNs+4*ms, tcp(client, server, ack, 2, 2, []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03aaaaaaaaaaaaaaaaaaaa")))
	c.add(startNs+5*ms, udp(hostPort("10.0.0.1:5353"), hostPort("224.0.0.251:5353"), query))
	r := analyzeBytes(t, c.Bytes())
	if r.Totals.Queries != 0 || len(r.Servers) != 0 || r.TCP.Connections != 0 || r.TCP.Streams != 1 || r.File.Skipped.MulticastDNS != 1 {
		t.Errorf("%+v %+v", r.Totals.counts, r.TCP.tcpCounts)
	}
	if len(r.CannotTell) == 0 || r.CannotTell[0].About != "dns" {
		t.Errorf("%+v", r.CannotTell)
	}
}

// TestSeriesOfALongCapture: the series folds into longer ticks and loses nothing; a single wrong timestamp does not
// coarsen it.
func TestSeriesOfALongCapture(t *testing.T) {
	c := newCapture(linkRaw)
	client, server := hostPort("10.0.0.1:40000"), hostPort("10.0.0.2:53")
	const n = 70_000
	for i := range int64(n) {
		query := packedQuery(t, uint16(i), "example.com.")
		c.add(startNs+i*100*ms, udp(client, server, query))
		c.add(startNs+i*100*ms+ms, udp(server, client, answerTo(query, 0)))
	}
	c.add(4e18, udp(client, server, packedQuery(t, 1, "example.com.")))
	r := analyzeBytes(t, c.Bytes())
	series := r.Series.Entries[1]
	if r.Series.StepUs != 400_000 || sum(series.Queries) != n+1 || sum(series.Answers) != n {
		t.Errorf("step %d, %d queries in %d ticks", r.Series.StepUs, sum(series.Queries), len(series.AtUs))
	}
	for i := 1; i < 1000; i++ {
		if series.AtUs[i]-series.AtUs[i-1] != r.Series.StepUs || series.Queries[i] != 4 {
			t.Fatalf("tick %d: %d after %d us", i, series.Queries[i], series.AtUs[i]-series.AtUs[i-1])
		}
	}
}

func TestQuantiles(t *testing.T) {
	var h histogram
	for i := range 10_000 {
		h.add(observe(int64(i+1) * 1000))
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
		want := 1 + q*9999
		if got := float64(h.quantileNs(q)) / 1000; math.Abs(got-want) > want*0.021 {
			t.Errorf("quantile %v: %v instead of %v us", q, got, want)
		}
	}
	var few, many distinct
	for i := range uint64(20_000) {
		many.add(maphash.Comparable(seed, i))
		few.add(maphash.Comparable(seed, i%50))
	}
	if few.estimate() != 50 || math.Abs(float64(many.estimate())-20_000) > 5000 {
		t.Errorf("%d and %d distinct", few.estimate(), many.estimate())
	}
}
