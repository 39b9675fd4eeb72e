package evidence

import (
	"maps"
	"slices"
)

const (
	firstStepNs = 100e6
	maxCells    = 60_000 // in all series together; the step doubles when there are more
	// maxCellEntries bounds the histogram entries of all cells, likewise.
	maxCellEntries = 2_000_000
	slowNs         = 20e6 // like the collector's dns_slow
)

// cell is one tick of one series.
type cell struct {
	queries, answers, servfail, refused, other, nxdomain uint32
	slow, unanswered, opened, closed                     uint32
	inFlightMax, inFlightEnd                             int64
	connectionsMax, connectionsEnd, idleEnd              int64
	latency                                              histogram
}

// series has a cell for each tick in which something happened.
type series struct {
	party    *party
	server   *server // nil for all servers together
	cells    map[int64]*cell
	lastTick int64
	last     *cell
}

// seriesSet keeps all series on one grid.
type seriesSet struct {
	stepNs  int64
	all     []*series
	cells   int
	entries int
}

func newSeriesSet() *seriesSet { return &seriesSet{stepNs: firstStepNs} }

func (s *seriesSet) add(of *server) *series {
	added := &series{server: of, cells: map[int64]*cell{}}
	if of != nil {
		added.party = &of.party
	}
	s.all = append(s.all, added)
	return added
}

// at returns the cell of a time. A new one starts with the current gauges.
func (s *seriesSet) at(one *series, ns int64) *cell {
	tick := ns / s.stepNs
	if one.last != nil && one.lastTick == tick {
		return one.last
	}
	found := one.cells[tick]
	if found == nil {
		if s.cells >= maxCells || s.entries >= maxCellEntries {
			s.fold()
			return s.at(one, ns)
		}
		s.cells++
		found = &cell{
			inFlightMax: one.party.inFlight, inFlightEnd: one.party.inFlight,
			connectionsMax: one.party.tcp.open, connectionsEnd: one.party.tcp.open, idleEnd: one.party.tcp.idle,
		}
		one.cells[tick] = found
	}
	one.last, one.lastTick = found, tick
	return found
}

// gauges records the gauges of the party after a change at a time.
func (s *seriesSet) gauges(one *series, ns int64) {
	at := s.at(one, ns)
	at.inFlightEnd = one.party.inFlight
	at.inFlightMax = max(at.inFlightMax, at.inFlightEnd)
	at.connectionsEnd = one.party.tcp.open
	at.connectionsMax = max(at.connectionsMax, at.connectionsEnd)
	at.idleEnd = one.party.tcp.idle
}

func (s *seriesSet) answer(one *series, ns int64, o observation, rcode uint8) {
	at := s.at(one, ns)
	at.answers++
	switch rcode {
	case 0:
	case 2:
		at.servfail++
	case 3:
		at.nxdomain++
	case 5:
		at.refused++
	default:
		at.other++
	}
	if o.ns > slowNs {
		at.slow++
	}
	before := len(at.latency.entries)
	at.latency.add(o)
	s.entries += len(at.latency.entries) - before
}

// fold doubles the step until there are half as many cells as allowed. This terminates: with the longest step all times
// share a cell, and there are fewer series than half the allowed cells.
func (s *seriesSet) fold() {
	for s.cells > maxCells/2 || s.entries > maxCellEntries/2 {
		s.stepNs *= 2
		s.cells, s.entries = 0, 0
		for _, one := range s.all {
			one.last = nil
			merged := make(map[int64]*cell, len(one.cells)/2+1)
			for _, tick := range slices.Sorted(maps.Keys(one.cells)) {
				// Ticks are in order, so the later cell's gauges are the end of the merged one.
				if into := merged[tick/2]; into != nil {
					into.absorb(one.cells[tick])
				} else {
					merged[tick/2] = one.cells[tick]
				}
			}
			one.cells = merged
			s.cells += len(merged)
			for _, c := range merged {
				s.entries += len(c.latency.entries)
			}
		}
	}
}

func (c *cell) absorb(later *cell) {
	c.queries += later.queries
	c.answers += later.answers
	c.servfail += later.servfail
	c.refused += later.refused
	c.other += later.other
	c.slow += later.slow
	c.unanswered += later.unanswered
	c.nxdomain += later.nxdomain
	c.opened += later.opened
	c.closed += later.closed
	c.inFlightMax = max(c.inFlightMax, later.inFlightMax)
	c.connectionsMax = max(c.connectionsMax, later.connectionsMax)
	c.inFlightEnd, c.connectionsEnd, c.idleEnd = later.inFlightEnd, later.connectionsEnd, later.idleEnd
	c.latency.merge(&later.latency)
}
