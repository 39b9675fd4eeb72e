package dnscapture

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
)

// A span of names ends after spanMost. A trigger ends it early, so that the names looked up before it are known at
// once; it does not do so again within urgentEvery, because lasting trouble would cause an event every second.
const (
	spanMost    = int64(10 * time.Second)
	spanLeast   = int64(time.Second)
	urgentEvery = int64(5 * time.Second)
)

// TopNames are the names that a server was asked for most in a span, by client and type. It can be refilled.
type TopNames struct {
	FromUS, ToUS                           int64
	Queries, NXDomain, Servfail, LatencyUS uint64 // totals of all finished queries
	Names                                  uint64 // distinct; estimated, within a few percent, if not all have rows
	Rows                                   []NameRow

	text []byte // of the rows
}

// NameRow is one client's queries for one name and type.
type NameRow struct {
	Client                      dnswire.Address
	Name, Type                  []byte
	Queries, NXDomain, Servfail uint32
	LatencyUS                   uint64 // added up
}

// CountNames enables counting of names for all servers added from now on.
func (t *Tracker) CountNames() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.countNames = true
}

// countName counts a finished query.
func (t *Tracker) countName(server *Server, client *dnswire.Address, record *exchanges.Record) {
	if server.top != nil {
		server.top.count(t.history.Names.Seed, t.history.Names.Get(record.Name), client, record)
	}
}

// WantNames ends the current span of the server's names soon, as after a trigger. Any goroutine can call it.
func (s *Server) WantNames() { s.namesWanted.Store(true) }

// TakeNames fills top if a span of the server's names has ended and it had queries. Rows come in order of value: those
// with the most queries, interleaved with those that took the most time in total.
func (t *Tracker) TakeNames(server *Server, top *TopNames) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	table := server.top
	if table == nil || t.nowNS <= table.fromNS {
		return false
	}
	span := t.nowNS - table.fromNS
	urgent := server.namesWanted.Load() && span >= spanLeast && t.nowNS-server.urgentNS >= urgentEvery
	if span < spanMost && !urgent {
		return false
	}
	if urgent {
		server.namesWanted.Store(false)
		server.urgentNS = t.nowNS
	}
	asked := table.totals.queries > 0
	if asked {
		t.fill(top, table)
	}
	table.reset(t.nowNS)
	return asked
}

func (t *Tracker) fill(top *TopNames, table *topTable) {
	totals := &table.totals
	*top = TopNames{
		FromUS: table.fromNS / 1000, ToUS: t.nowNS / 1000, Queries: totals.queries, NXDomain: totals.nxdomain,
		Servfail: totals.servfail, LatencyUS: totals.latencyUS, Rows: top.Rows[:0], text: top.text[:0],
	}
	room := 0
	for i := range table.sets {
		for k := range topWays {
			if set := &table.sets[i]; set.keys[k] != 0 {
				room += len(t.history.Names.Get(set.rows[k].name))
			}
		}
	}
	top.text = slices.Grow(top.text, room) // rows point into it: it must not move
	for i := range table.sets {
		for k := range topWays {
			if table.sets[i].keys[k] == 0 {
				continue
			}
			row := &table.sets[i].rows[k]
			text := t.history.Names.Get(row.name)
			space := bytes.LastIndexByte(text, ' ')
			if space < 0 {
				totals.crowded = true // lost: the ring of names has wrapped around
				continue
			}
			at := len(top.text)
			top.text = append(top.text, text...)
			kept := top.text[at:]
			top.Rows = append(top.Rows, NameRow{
				Client: row.client, Name: kept[:space], Type: kept[space+1:], Queries: row.queries, NXDomain: row.nxdomain,
				Servfail: row.servfail, LatencyUS: row.latencyUS,
			})
		}
	}
	top.Names = table.names()
	if !totals.crowded {
		top.Names = top.distinct()
	}
	top.rank()
}

// distinct counts the names of the rows.
func (n *TopNames) distinct() uint64 {
	slices.SortFunc(n.Rows, func(a, b NameRow) int { return bytes.Compare(a.Name, b.Name) })
	count := uint64(0)
	for i := range n.Rows {
		if i == 0 || !bytes.Equal(n.Rows[i].Name, n.Rows[i-1].Name) {
			count++
		}
	}
	return count
}

// rank sorts the rows by value.
func (n *TopNames) rank() {
	byQueries := func(a, b NameRow) int {
		return cmp.Or(cmp.Compare(b.Queries, a.Queries), cmp.Compare(b.LatencyUS, a.LatencyUS), bytes.Compare(a.Name, b.Name),
			bytes.Compare(a.Type, b.Type), bytes.Compare(a.Client[:], b.Client[:]))
	}
	slices.SortFunc(n.Rows, byQueries)
	// Every fourth row is the remaining one that took the most time.
	for i := 1; i < len(n.Rows) && i < maxRanked; i += 4 {
		costliest := i
		for k := i + 1; k < len(n.Rows); k++ {
			if n.Rows[k].LatencyUS > n.Rows[costliest].LatencyUS {
				costliest = k
			}
		}
		row := n.Rows[costliest]
		copy(n.Rows[i+1:costliest+1], n.Rows[i:costliest])
		n.Rows[i] = row
	}
}

// maxRanked is more rows than an event has room for.
const maxRanked = 128
