package evidence

// How a connection ended, by the first sign ("end" of a session).
const (
	endOpen      = "open"
	endClientFin = "client_fin"
	endServerFin = "server_fin"
	endClientRst = "client_rst"
	endServerRst = "server_rst"
	endRefused   = "refused"
	endNoAnswer  = "no_answer"
)

const (
	maxSessions       = 200
	maxUnansweredRows = 5000
)

// tcpTotals cover all connections to DNS servers in the file.
type tcpTotals struct {
	duration, longestIdle, halfClosed, timeToClose, portReuseInterval histogram
	longest, idlest, lingering                                        top[sessionRecord]
	queries, withOne, withNone                                        uint64
	queriesMax                                                        uint32
}

// sessionRecord is one connection in the report's lists.
type sessionRecord struct {
	flow         flow // without its data
	end          string
	halfClosedNs int64
}

// finish counts a connection that leaves the table.
func (a *Analyzer) finish(slot int32) {
	f := &a.flows.slots[slot]
	a.flush(f)
	if f.state == dnsCandidate {
		if to := a.servers[f.endpoint(1-f.clientSide)]; to != nil {
			a.adopt(f, to)
		}
	}
	if f.state == dnsYes {
		a.finished(f)
	}
	a.flows.remove(slot)
}

func (a *Analyzer) finished(f *flow) {
	end := f.end()
	stillOpen := f.established && !f.closed
	if stillOpen && !a.ended {
		a.idleOff(f)
		a.eachOf(f, func(p *party) { p.tcp.opening(-1) })
		a.eachSeries(f.server, func(s *series) { a.series.gauges(s, a.nowNs) })
	}
	record := sessionRecord{flow: *f, end: end}
	record.flow.sides = [2]side{}
	if !f.closed {
		record.flow.closedNs = f.lastNs
		if stillOpen && a.ended {
			record.flow.closedNs = a.nowNs
			record.flow.longestIdleNs = max(f.longestIdleNs, a.nowNs-f.lastNs)
		}
	}
	firstFin := earlier(f.sides[0].finNs, f.sides[1].finNs)
	if firstFin != 0 && f.established {
		// The other FIN or a RST ended it; without one it lasted at least until the last known event.
		record.halfClosedNs = max(0, record.flow.closedNs-firstFin)
		if f.lastDataNs != 0 {
			a.tcp.timeToClose.add(observe(max(0, firstFin-min(f.lastDataNs, firstFin))))
		}
	}
	a.countEnd(f, end, record.halfClosedNs)
	a.keepSession(f, record)
}

func (a *Analyzer) idleOff(f *flow) {
	if f.idle {
		f.idle = false
		a.idling(f, -1, a.nowNs)
	}
}

// end reports which side ended the connection first.
func (f *flow) end() string {
	if !f.established {
		if f.resetNs == 0 {
			return endNoAnswer
		}
		if f.resetBy != f.clientSide {
			return endRefused
		}
		return endClientRst
	}
	clientFin, serverFin := f.sides[f.clientSide].finNs, f.sides[1-f.clientSide].finNs
	firstFin := earlier(clientFin, serverFin)
	switch {
	case firstFin == 0 && f.resetNs == 0:
		return endOpen
	case firstFin == 0 || f.resetNs != 0 && f.resetNs < firstFin:
		if f.resetBy == f.clientSide {
			return endClientRst
		}
		return endServerRst
	case firstFin == clientFin:
		return endClientFin
	}
	return endServerFin
}

// earlier is the smaller of two times, where 0 means none.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (a *Analyzer) countEnd(f *flow, end string, halfClosedNs int64) {
	resetAfterClose := f.resetNs != 0 && f.sides[f.resetBy].finNs != 0
	a.eachOf(f, func(p *party) {
		t := &p.tcp
		switch end {
		case endClientFin:
			t.ClosedByClient++
		case endServerFin:
			t.ClosedByServer++
		case endClientRst:
			t.ResetByClient++
		case endServerRst:
			t.ResetByServer++
		case endRefused:
			t.Refused++
		case endNoAnswer:
			t.NoAnswerToSyn++
		}
		if f.established && !f.closed && a.ended {
			t.OpenAtEnd++
		}
		if halfClosedNs > halfClosedFromNs {
			t.HalfClosed++
		}
		if resetAfterClose {
			t.ResetAfterClose++
		}
	})
}

func (a *Analyzer) keepSession(f *flow, record sessionRecord) {
	t := &a.tcp
	if f.established {
		duration := f.lastNs - f.firstNs
		t.duration.add(observe(duration))
		t.longestIdle.add(observe(record.flow.longestIdleNs))
		if t.longest.wants(duration) {
			t.longest.add(duration, record)
		}
		if t.idlest.wants(record.flow.longestIdleNs) {
			t.idlest.add(record.flow.longestIdleNs, record)
		}
		if record.halfClosedNs > 0 {
			t.halfClosed.add(observe(record.halfClosedNs))
			if record.halfClosedNs > halfClosedFromNs && t.lingering.wants(record.halfClosedNs) {
				t.lingering.add(record.halfClosedNs, record)
			}
		}
	}
	t.queries += uint64(f.tally.queries)
	t.queriesMax = max(t.queriesMax, f.tally.queries)
	switch f.tally.queries {
	case 0:
		t.withNone++
	case 1:
		t.withOne++
	}
}
