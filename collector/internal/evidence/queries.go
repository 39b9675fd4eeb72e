package evidence

import (
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// row is one query in the report's columns.
type row struct {
	sentNs, latencyNs int64
	key               exchangeKey
	name              string
	rcode             uint8
}

// transport is where a message was found.
type transport struct {
	client, server dnswire.Endpoint
	flow           *flowTally // nil for UDP
	stream         uint32     // 0 for UDP
}

// query handles a query to a known server.
func (a *Analyzer) query(t transport, to *server, m *message, ns int64) {
	key := exchangeKey{t.client, t.server, m.id, t.stream}
	hash := hashQuestion(m.question)
	repeatedLate := false
	if before := a.exchanges.find(key); before != nil {
		after := ns - before.sentNs
		same := before.hash == hash || before.hash == 0 || hash == 0
		if same && after < repeatWithinNs {
			if after < copyWithinNs {
				a.each(before, func(p *party) { p.counts.Copies++ })
			} else {
				a.each(before, func(p *party) { p.counts.RepeatedQueries++ })
			}
			return
		}
		repeatedLate = same
		a.unanswered(before)
	}
	if a.exchanges.full() {
		oldest := &a.exchanges.slots[a.exchanges.oldest]
		if ns-oldest.sentNs < giveUpNs {
			a.gaveUp++
		}
		a.unanswered(oldest)
	}
	from := a.clientAt(t.client.Address)
	if hash != 0 && len(a.names.byHash) >= maxNames && a.names.byHash[hash] == nil {
		a.evictNames()
	}
	x := a.exchanges.add(key, hash)
	x.sentNs, x.server, x.client, x.flow = ns, to, from, t.flow
	x.name = a.names.asked(m.question, hash, from.hash)
	if hash != 0 {
		from.names.add(hash)
	} else {
		a.namesUnreadable++
	}
	to.clients.add(from.hash)
	if t.flow != nil {
		x.first = t.flow.startSeen && t.flow.queries == 0
		t.flow.queries++
	}
	a.each(x, func(p *party) {
		p.counts.Queries++
		if t.flow == nil {
			p.counts.UDPQueries++
		} else {
			p.counts.TCPQueries++
		}
		if repeatedLate {
			p.counts.RepeatedAfter5s++
		}
		p.flying(1)
	})
	a.eachSeries(to, func(s *series) {
		a.series.at(s, ns).queries++
		a.series.gauges(s, ns)
	})
	a.forwards(x)
}

// answer handles an answer of a known server.
func (a *Analyzer) answer(t transport, from *server, m *message, ns int64) {
	key := exchangeKey{t.client, t.server, m.id, t.stream}
	x := a.exchanges.find(key)
	if x == nil || x.hash != 0 && m.question != nil && hashQuestion(m.question) != x.hash {
		a.strayAnswer(key, from, ns)
		return
	}
	a.recent.note(key, ns)
	if t.flow != nil {
		t.flow.answers++
	}
	o := observe(ns - x.sentNs)
	a.each(x, func(p *party) {
		p.counts.answered(m)
		p.latency.add(o)
		if t.flow == nil && m.truncated {
			p.counts.Truncated++
		}
	})
	switch {
	case t.flow == nil:
		from.udp.add(o)
	case x.first:
		from.tcpFirst.add(o)
	default:
		from.tcpLater.add(o)
	}
	a.landed(x, ns)
	a.eachSeries(from, func(s *series) { a.series.answer(s, ns, o, m.rcode) })
	if x.name != nil {
		x.name.answered(o.ns, ns, m.rcode)
	}
	a.forwardingDone(x, ns)
	a.upstreamAnswered(x, ns)
	if a.slowest.wants(o.ns) {
		a.slowest.add(o.ns, row{x.sentNs, o.ns, key, x.text(m), m.rcode})
	}
	a.writeCSV(x, m, &o)
	a.exchanges.remove(x)
}

func (a *Analyzer) strayAnswer(key exchangeKey, from *server, ns int64) {
	answeredNs, known := a.recent.when(key)
	count := func(p *party) {
		switch {
		case !known:
			p.counts.StrayAnswers++
		case ns-answeredNs < copyWithinNs:
			p.counts.Copies++
		default:
			p.counts.RepeatedAnswers++
		}
	}
	count(&a.total)
	count(&from.party)
	if asked := a.clients[key.client.Address]; asked != nil {
		count(&asked.party)
	}
}

// unanswered gives up a query.
func (a *Analyzer) unanswered(x *exchange) {
	if !a.ended {
		a.landed(x, a.nowNs)
	}
	late := x.sentNs > a.nowNs-repeatWithinNs
	a.each(x, func(p *party) {
		p.counts.Unanswered++
		if late && a.ended {
			p.counts.UnansweredLate++
		}
	})
	a.eachSeries(x.server, func(s *series) { a.series.at(s, x.sentNs).unanswered++ })
	if len(a.unansweredRows) < maxUnansweredRows {
		a.unansweredRows = append(a.unansweredRows, row{sentNs: x.sentNs, key: x.key, name: x.text(nil)})
	}
	a.writeCSV(x, nil, nil)
	a.exchanges.remove(x)
}

// landed removes a query from those in flight.
func (a *Analyzer) landed(x *exchange, ns int64) {
	if x.expired {
		return
	}
	x.expired = true
	a.each(x, func(p *party) { p.flying(-1) })
	a.eachSeries(x.server, func(s *series) { a.series.gauges(s, ns) })
}

// expire removes queries that have waited too long for a client to care from those in flight.
func (a *Analyzer) expire() {
	for slot := a.exchanges.onTheWay; slot != noSlot; slot = a.exchanges.onTheWay {
		x := &a.exchanges.slots[slot]
		if x.sentNs > a.nowNs-giveUpNs {
			return
		}
		a.landed(x, x.sentNs+giveUpNs)
		a.exchanges.onTheWay = x.newer
	}
}

func (c *counts) answered(m *message) {
	c.Answers++
	switch m.rcode {
	case 0:
		c.NoError++
	case 2:
		c.ServFail++
	case 3:
		c.NXDomain++
	case 5:
		c.Refused++
	default:
		c.Other++
	}
}

// each calls do for the whole file, the server and the client of a query.
func (a *Analyzer) each(x *exchange, do func(*party)) {
	do(&a.total)
	do(&x.server.party)
	do(&x.client.party)
}

func (a *Analyzer) eachSeries(of *server, do func(*series)) {
	do(a.totalSeries)
	if of.series != nil {
		do(of.series)
	}
}

// text is the query's question, empty if it is not known; answer (or nil) has it too.
func (x *exchange) text(answer *message) string {
	switch {
	case x.name != nil:
		return x.name.text
	case x.label == "" && answer != nil && answer.question != nil:
		return questionText(answer.question)
	}
	return x.label
}
