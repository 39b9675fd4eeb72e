package dnscapture

import (
	"bytes"
	"hash/maphash"
	"math"
	"math/bits"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
	"github.com/jitterscope/jitterscope/collector/internal/offheap"
)

// topTable counts the finished queries of a server by client, name and type. It is set-associative and bounded. A new
// key that finds no room replaces the weakest row of its set and inherits its strength plus one query: a key with more
// than an eighth of the queries of a set stays in it, whenever it arrives (Space-Saving: Metwally, Agrawal and El
// Abbadi, Efficient computation of frequent and top-k elements in data streams, 2005). So a flood of names that are
// asked for once does not evict those that are asked for often. A row's count is exact from when it was entered; the
// totals are always exact.
type topTable struct {
	sets [topSets]topSet
	// sketch estimates the number of names if rows were evicted: HyperLogLog, 3% (Flajolet and others, 2007).
	sketch [1 << sketchBits]uint8
	totals topTotals
	fromNS int64
}

const (
	topSetBits       = 6
	topSets, topWays = 1 << topSetBits, 8
	sketchBits       = 10
)

// topSet separates what is read for each query from what is only written, so that it fits into two cache lines.
type topSet struct {
	keys     [topWays]uint64 // 0: free
	strength [topWays]uint32 // upper bound of the row's queries, including those before it was entered
	rows     [topWays]topRow
}

type topRow struct {
	client                      dnswire.Address
	latencyUS                   uint64
	name                        exchanges.Place
	queries, nxdomain, servfail uint32
}

type topTotals struct {
	queries, nxdomain, servfail, latencyUS uint64
	crowded                                bool // a row was evicted, or a name could not be read
}

// newTopTable creates a table that lives as long as server.
func newTopTable(server *Server, nowNS int64) *topTable {
	t := &offheap.Make[topTable](server, 1)[0]
	t.fromNS = nowNS
	return t
}

// count counts a finished query. text is its "example.com. A", nil if it could not be read or is lost.
func (t *topTable) count(seed maphash.Seed, text []byte, client *dnswire.Address, record *exchanges.Record) {
	t.totals.queries++
	t.totals.latencyUS += uint64(record.LatencyUS)
	switch record.Result {
	case exchanges.ResultNXDomain:
		t.totals.nxdomain++
	case exchanges.ResultServFail:
		t.totals.servfail++
	}
	if len(text) == 0 {
		t.totals.crowded = true
		return
	}
	name := maphash.Bytes(seed, text[:bytes.LastIndexByte(text, ' ')+1])
	index, rest := name>>(64-sketchBits), name<<sketchBits|1<<(sketchBits-1)
	t.sketch[index] = max(t.sketch[index], uint8(bits.LeadingZeros64(rest))+1)
	// Each pair of rows has a chance of 2^-64 of being mistaken for one.
	key := (maphash.Bytes(seed, text) ^ bits.RotateLeft64(maphash.Bytes(seed, client[:]), 17)) | 1
	row := t.row(key, client)
	row.name = record.Name // the newest place is overwritten last
	row.queries++
	row.latencyUS += uint64(record.LatencyUS)
	switch record.Result {
	case exchanges.ResultNXDomain:
		row.nxdomain++
	case exchanges.ResultServFail:
		row.servfail++
	}
}

// row returns the row of a key, a new one if there is none.
func (t *topTable) row(key uint64, client *dnswire.Address) *topRow {
	set := &t.sets[key>>(64-topSetBits)]
	weakest := 0
	for i, known := range &set.keys {
		if known == key {
			set.strength[i]++
			return &set.rows[i]
		}
		if set.strength[i] < set.strength[weakest] {
			weakest = i
		}
	}
	t.totals.crowded = t.totals.crowded || set.keys[weakest] != 0
	set.keys[weakest] = key
	set.strength[weakest]++
	set.rows[weakest] = topRow{client: *client}
	return &set.rows[weakest]
}

// names estimates the number of distinct names.
func (t *topTable) names() uint64 {
	const m = 1 << sketchBits
	sum, zeros := 0.0, 0
	for _, rank := range t.sketch {
		sum += math.Ldexp(1, -int(rank))
		if rank == 0 {
			zeros++
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && zeros > 0 {
		estimate = m * math.Log(m/float64(zeros))
	}
	return uint64(math.Round(estimate))
}

// reset begins a new span.
func (t *topTable) reset(nowNS int64) { *t = topTable{fromNS: nowNS} }
