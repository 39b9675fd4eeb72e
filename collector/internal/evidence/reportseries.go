package evidence

import (
	"maps"
	"slices"
)

// maxListedEntries bounds what all distributions of the series list together; a series whose entries no longer fit has
// none.
const maxListedEntries = 400_000

type seriesReport struct {
	StepUs  int64         `json:"step_us"`
	Entries []seriesEntry `json:"entries"`
}

type seriesEntry struct {
	Server         *int            `json:"server"`
	AtUs           []int64         `json:"at_us"`
	Queries        []uint32        `json:"queries"`
	Answers        []uint32        `json:"answers"`
	Errors         []uint32        `json:"errors"`
	NXDomain       []uint32        `json:"nxdomain"`
	ServFail       []uint32        `json:"servfail"`
	Refused        []uint32        `json:"refused"`
	Slow           []uint32        `json:"slow"`
	Unanswered     []uint32        `json:"unanswered"`
	P50Us          []*microseconds `json:"p50_us"`
	P99Us          []*microseconds `json:"p99_us"`
	MaxUs          []*microseconds `json:"max_us"`
	InFlightMax    []int64         `json:"in_flight_max"`
	InFlightEnd    []int64         `json:"in_flight_end"`
	ConnectionsMax []int64         `json:"connections_max"`
	ConnectionsEnd []int64         `json:"connections_end"`
	IdleEnd        []int64         `json:"idle_end"`
	Opened         []uint32        `json:"opened"`
	Closed         []uint32        `json:"closed"`
	Distribution   *distribution   `json:"distribution"`
}

// distribution holds the latencies of each tick, in buckets: parallel arrays, row is an index into at_us.
type distribution struct {
	Row    []int    `json:"row"`
	Bucket []uint16 `json:"bucket"`
	Count  []uint32 `json:"count"`
}

func (a *Analyzer) seriesRows(t *tables) seriesReport {
	r := seriesReport{StepUs: a.series.stepNs / 1000, Entries: []seriesEntry{}}
	left := maxListedEntries
	for _, one := range a.series.all {
		if len(one.cells) == 0 && one.server != nil {
			continue
		}
		ticks := slices.Sorted(maps.Keys(one.cells))
		cells := make([]*cell, len(ticks))
		var entry seriesEntry
		for i, tick := range ticks {
			cells[i] = one.cells[tick]
			entry.AtUs = append(entry.AtUs, tick*a.series.stepNs/1000)
		}
		if one.server != nil {
			at := t.endpoints.of(one.server.endpoint)
			entry.Server = &at
		}
		entry.fill(cells)
		if listed := distributionOf(cells); len(listed.Row) <= left {
			left -= len(listed.Row)
			entry.Distribution = listed
		}
		r.Entries = append(r.Entries, entry)
	}
	return r
}

// column takes one value of each cell.
func column[T any](cells []*cell, of func(*cell) T) []T {
	values := make([]T, len(cells))
	for i, c := range cells {
		values[i] = of(c)
	}
	return values
}

func (e *seriesEntry) fill(cells []*cell) {
	count := func(of func(*cell) uint32) []uint32 { return column(cells, of) }
	gauge := func(of func(*cell) int64) []int64 { return column(cells, of) }
	latency := func(of func(*histogram) int64) []*microseconds {
		return column(cells, func(c *cell) *microseconds { return maybeUs(of(&c.latency), c.latency.count > 0) })
	}
	if e.AtUs == nil {
		e.AtUs = []int64{}
	}
	e.Queries = count(func(c *cell) uint32 { return c.queries })
	e.Answers = count(func(c *cell) uint32 { return c.answers })
	e.Errors = count(func(c *cell) uint32 { return c.servfail + c.refused + c.other })
	e.NXDomain = count(func(c *cell) uint32 { return c.nxdomain })
	e.ServFail = count(func(c *cell) uint32 { return c.servfail })
	e.Refused = count(func(c *cell) uint32 { return c.refused })
	e.Slow = count(func(c *cell) uint32 { return c.slow })
	e.Unanswered = count(func(c *cell) uint32 { return c.unanswered })
	e.P50Us = latency(func(h *histogram) int64 { return h.quantileNs(0.5) })
	e.P99Us = latency(func(h *histogram) int64 { return h.quantileNs(0.99) })
	e.MaxUs = latency(func(h *histogram) int64 { return h.maxNs })
	e.InFlightMax = gauge(func(c *cell) int64 { return c.inFlightMax })
	e.InFlightEnd = gauge(func(c *cell) int64 { return c.inFlightEnd })
	e.ConnectionsMax = gauge(func(c *cell) int64 { return c.connectionsMax })
	e.ConnectionsEnd = gauge(func(c *cell) int64 { return c.connectionsEnd })
	e.IdleEnd = gauge(func(c *cell) int64 { return c.idleEnd })
	e.Opened = count(func(c *cell) uint32 { return c.opened })
	e.Closed = count(func(c *cell) uint32 { return c.closed })
}

func distributionOf(cells []*cell) *distribution {
	d := &distribution{[]int{}, []uint16{}, []uint32{}}
	for row, c := range cells {
		for _, entry := range c.latency.entries {
			d.Row = append(d.Row, row)
			d.Bucket = append(d.Bucket, entry.bucket)
			d.Count = append(d.Count, entry.count)
		}
	}
	return d
}
