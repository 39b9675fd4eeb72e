package evidence

import (
	"cmp"
	"slices"
)

type tcpReport struct {
	tcpCounts
	Streams          uint32          `json:"streams"`
	Duration         latencyReport   `json:"duration"`
	LongestIdle      latencyReport   `json:"longest_idle"`
	HalfClosedTime   latencyReport   `json:"half_closed_time"`
	TimeToCloseIdle  latencyReport   `json:"time_to_close_idle"`
	PortReuse        latencyReport   `json:"port_reuse_interval"`
	QueriesPerStream queriesPerTCP   `json:"queries_per_connection"`
	Sessions         sessionsReports `json:"sessions"`
}

type queriesPerTCP struct {
	Max      uint32   `json:"max"`
	Mean     *float64 `json:"mean"`
	WithOne  uint64   `json:"connections_with_one"`
	WithNone uint64   `json:"connections_with_none"`
}

type sessionsReports struct {
	Longest   []sessionReport `json:"longest"`
	Idlest    []sessionReport `json:"idlest"`
	Lingering []sessionReport `json:"lingering"`
}

type sessionReport struct {
	Stream             uint32        `json:"stream"`
	Client             string        `json:"client"`
	ClientPort         uint16        `json:"client_port"`
	Server             int           `json:"server"`
	StartAtUs          microseconds  `json:"start_at_us"`
	DurationUs         microseconds  `json:"duration_us"`
	StartSeen          bool          `json:"start_seen"`
	LongestIdleUs      microseconds  `json:"longest_idle_us"`
	Queries            uint32        `json:"queries"`
	Answers            uint32        `json:"answers"`
	Packets            uint32        `json:"packets"`
	End                string        `json:"end"`
	HalfClosedUs       microseconds  `json:"half_closed_us"`
	AnsweredAfterClose uint32        `json:"answered_after_close"`
	PortLastUsedUs     *microseconds `json:"port_last_used_us"`
}

func (a *Analyzer) tcpRows(t *tables) tcpReport {
	r := tcpReport{
		tcpCounts: a.total.tcp, Streams: a.streams, Duration: latencyOf(&a.tcp.duration), LongestIdle: latencyOf(&a.tcp.longestIdle),
		HalfClosedTime: latencyOf(&a.tcp.halfClosed), TimeToCloseIdle: latencyOf(&a.tcp.timeToClose), PortReuse: latencyOf(&a.tcp.portReuseInterval),
		QueriesPerStream: queriesPerTCP{Max: a.tcp.queriesMax, WithOne: a.tcp.withOne, WithNone: a.tcp.withNone},
		Sessions:         sessionsReports{sessionRows(&a.tcp.longest, t), sessionRows(&a.tcp.idlest, t), sessionRows(&a.tcp.lingering, t)},
	}
	if n := a.total.tcp.Connections; n > 0 {
		mean := float64(a.tcp.queries) / float64(n)
		r.QueriesPerStream.Mean = &mean
	}
	return r
}

func sessionRows(kept *top[sessionRecord], t *tables) []sessionReport {
	slices.SortFunc(kept.items, func(x, y scored[sessionRecord]) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.item.flow.number, y.item.flow.number))
	})
	rows := make([]sessionReport, 0, len(kept.items))
	for _, item := range kept.items {
		f := &item.item.flow
		from, to := f.endpoint(f.clientSide), f.endpoint(1-f.clientSide)
		rows = append(rows, sessionReport{
			f.number, addressText(from.Address), from.Port, t.endpoints.of(to), us(f.firstNs), us(max(0, f.lastNs-f.firstNs)), f.tally.startSeen,
			us(f.longestIdleNs), f.tally.queries, f.tally.answers, f.packets, item.item.end, us(item.item.halfClosedNs), f.tally.afterClose,
			maybeUs(f.firstNs-f.portLastUsedNs, f.portLastUsedNs != 0),
		})
	}
	return rows
}
