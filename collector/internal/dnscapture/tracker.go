package dnscapture

import (
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
)

const (
	inflightCapacity = 32768
	historyCapacity  = 49152 // 8 s at 6,100 queries/s: a timeout is reported after 5 s and needs the 2 s before it
	timeoutNS        = catalogue.DNSGivenUpUS * 1000
	// A forwarder that gives its upstream 5 s answers SERVFAIL just after; a query that was given up is remembered for
	// this much longer.
	lateNS        = 3_000_000_000
	lateCapacity  = 16384
	maxCandidates = 64
	foreign       = exchanges.Nobody
	maxForeign    = 1024
)

// Tracker matches answers to queries. The methods used while sampling (Read, Packet, Tick) neither allocate nor block;
// the others are for the slow path. All of them lock.
type Tracker struct {
	mu       priority.Mutex
	index    map[ServerKey]uint16 // into servers, or foreign
	servers  [MaxServers]*Server
	inflight *inflight
	given    *inflight // given up, but still remembered
	history  *exchanges.History
	reads    *reads
	tcp      *connections
	nowNS    int64

	countNames bool

	candidates [maxCandidates]ServerKey
	waiting    int

	segment dnswire.Segment
	header  dnswire.Header
	text    []byte
	stats   Stats
}

// Stats counts what the tracker could not use.
type Stats struct {
	Packets, NotDNS, Repeated, Unmatched, Overflow, Reset uint64
}

// NewTracker makes a Tracker.
func NewTracker() *Tracker {
	t := &Tracker{
		index: make(map[ServerKey]uint16), inflight: newInflight(inflightCapacity), given: newInflight(lateCapacity), reads: newReads(),
		history: exchanges.NewHistory(historyCapacity), tcp: newConnections(), text: make([]byte, 0, 1200),
	}
	return t
}

// StayOrdinary keeps threads of the slow path from taking real-time priority. Call it before anything else.
func (t *Tracker) StayOrdinary() { t.mu.Ordinary = true }

// Lock and Unlock enclose Read, Packet and Tick.
func (t *Tracker) Lock() { t.mu.Lock() }

// Unlock ends what Lock began.
func (t *Tracker) Unlock() { t.mu.Unlock() }

// Read records when a server read a query.
func (t *Tracker) Read(read *Read) { t.reads.put(read) }

// Packet handles a packet of a capture. Packets must come in time order.
func (t *Tracker) Packet(capture uint8, packet *Packet) {
	t.stats.Packets++
	if !dnswire.ParseIP(packet.EtherType, packet.Data, &t.segment) {
		t.stats.NotDNS++
		return
	}
	if t.segment.Protocol == dnswire.ProtocolTCP {
		t.tcpSegment(capture, packet)
		return
	}
	t.message(capture, packet.TimeNS, packet.Interface, t.segment.Payload)
}

// message handles the start of one DNS message of the current segment.
func (t *Tracker) message(capture uint8, timeNS int64, interface_ int32, message []byte) {
	if !dnswire.ParseHeader(message, &t.header) {
		t.stats.NotDNS++
		return
	}
	server, client := &t.segment.Destination, &t.segment.Source
	if t.header.Response {
		server, client = client, server
	}
	number, known := t.server(capture, server)
	if !known {
		return
	}
	f := flow{client: *client, server: number, id: t.header.ID, protocol: t.segment.Protocol}
	if t.header.Response {
		t.answer(&f, timeNS)
	} else {
		t.query(&f, timeNS, interface_, message)
	}
}

// server looks up an address; an unknown one is remembered as a candidate.
func (t *Tracker) server(capture uint8, endpoint *dnswire.Endpoint) (uint16, bool) {
	key := ServerKey{*endpoint, capture}
	number, known := t.index[key]
	if known {
		return number, number != foreign
	}
	for i := range t.waiting {
		if t.candidates[i] == key {
			return 0, false
		}
	}
	if t.waiting < maxCandidates {
		t.candidates[t.waiting] = key
		t.waiting++
	}
	return 0, false
}

func (t *Tracker) query(f *flow, timeNS int64, interface_ int32, message []byte) {
	if t.inflight.find(f) != nil {
		// Sent again by the client, or seen again on another interface on its way (a bridge and its ports).
		t.stats.Repeated++
		return
	}
	server := t.servers[f.server]
	index := server.clients.count(&f.client.Address)
	server.total.queries++
	server.asked++
	server.paths[index].queries++
	entry := t.inflight.add(f)
	if entry == nil {
		t.stats.Overflow++
		return
	}
	if server.unanswered == 0 {
		server.silence.Asked(timeNS)
	}
	server.unanswered++
	entry.seenNS, entry.interface_, entry.path, entry.name = timeNS, interface_, index, exchanges.NoText
	if text, ok := dnswire.AppendQuestion(t.text[:0], message); ok {
		entry.name = t.history.Names.Put(text)
	}
}

func (t *Tracker) answer(f *flow, timeNS int64) {
	entry := t.inflight.find(f)
	if entry == nil {
		t.lateAnswer(f)
		return
	}
	record := exchanges.Record{
		SeenNS: entry.seenNS, Name: entry.name, Client: t.history.Clients.Put(f.client.Address[:]), Server: f.server,
		Result: resultOf(t.header.Rcode),
	}
	latencyUS := max(timeNS-entry.seenNS, 0) / 1000
	record.LatencyUS = uint32(min(latencyUS, 1<<32-1))
	server := t.servers[f.server]
	server.silence.Answered(timeNS)
	if readNS, ok := t.reads.take(&f.client, server.Key.Port, f.id, entry.seenNS, timeNS); ok && f.protocol == dnswire.ProtocolUDP {
		record.HasWait, record.QueueWaitUS = true, uint32((readNS-entry.seenNS)/1000)
		server.wait.Observe(int64(record.QueueWaitUS))
		server.work.Observe((timeNS - readNS) / 1000)
	}
	server.total.answer(record.Result, latencyUS)
	server.pathOf(entry.path, &f.client.Address).answer(record.Result, latencyUS)
	server.maxUS = max(server.maxUS, latencyUS)
	server.kept.Ended(entry.seenNS, record.LatencyUS)
	if latencyUS > catalogue.SlowUS || record.Result == exchanges.ResultServFail {
		server.troubleNS = timeNS
	}
	t.finish(server, entry, record)
}

// lateAnswer counts a SERVFAIL whose query was given up: the query failed and was not lost.
func (t *Tracker) lateAnswer(f *flow) {
	entry := t.given.find(f)
	if entry == nil {
		t.stats.Unmatched++
		return
	}
	if t.header.Rcode == dnswire.RcodeServFail {
		t.servers[f.server].lateServfail++
	}
	t.given.remove(entry)
}

func (t *Tracker) finish(server *Server, entry *pending, record exchanges.Record) {
	server.unanswered--
	t.countName(server, &entry.client.Address, &record)
	t.history.Put(record)
	t.inflight.remove(entry)
}

func resultOf(rcode uint8) uint8 {
	switch rcode {
	case dnswire.RcodeNoError:
		return exchanges.ResultNoError
	case dnswire.RcodeNXDomain:
		return exchanges.ResultNXDomain
	case dnswire.RcodeServFail:
		return exchanges.ResultServFail
	case dnswire.RcodeRefused:
		return exchanges.ResultRefused
	}
	return exchanges.ResultOther
}

// Tick closes the tick that ends at endUS: all packets before that time must have been passed in, and none after it.
// throttled reports whether the cgroup of a server was throttled in it.
func (t *Tracker) Tick(back int, endUS int64, recorder Recorder, throttled func(*Server) bool) {
	t.nowNS = endUS * 1000
	t.expire(t.nowNS)
	t.forget(t.nowNS)
	for _, server := range t.servers {
		if server == nil {
			continue
		}
		t.watchFor(server, endUS, recorder, throttled)
		server.silence.Publish(server.unanswered > 0)
		server.record(back, endUS, recorder)
	}
}

// expire gives up queries that are older than the timeout.
func (t *Tracker) expire(nowNS int64) {
	for {
		entry := t.inflight.first()
		if entry == nil || entry.seenNS > nowNS-timeoutNS {
			return
		}
		server := t.servers[entry.server]
		t.remember(&entry.flow, entry.seenNS)
		server.total.timeouts++
		server.pathOf(entry.path, &entry.client.Address).timeouts++
		server.kept.Ended(entry.seenNS, timeoutNS/1000)
		server.troubleNS = nowNS
		t.finish(server, entry, exchanges.Record{
			SeenNS: entry.seenNS, Name: entry.name, LatencyUS: timeoutNS / 1000, Server: entry.server,
			Client: t.history.Clients.Put(entry.client.Address[:]), Result: exchanges.ResultTimeout,
		})
	}
}

// remember keeps a given-up query for its late answer; if the client has sent the same query again, the newer one
// counts.
func (t *Tracker) remember(f *flow, seenNS int64) {
	entry := t.given.find(f)
	if entry != nil {
		t.given.remove(entry)
	}
	if entry = t.given.add(f); entry != nil {
		entry.seenNS = seenNS
	}
}

// forget drops given-up queries whose answer no longer matters.
func (t *Tracker) forget(nowNS int64) {
	for entry := t.given.first(); entry != nil && entry.seenNS <= nowNS-timeoutNS-lateNS; entry = t.given.first() {
		t.given.remove(entry)
	}
}

// Statistics returns the counters.
func (t *Tracker) Statistics() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}
