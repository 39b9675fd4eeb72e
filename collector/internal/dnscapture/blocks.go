package dnscapture

import (
	"net/netip"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

const (
	// A window is sent when its queries are answered. One that has waited so long is sent without, and follows as a slow
	// query when it is answered or given up.
	settleNS     = int64(1500 * time.Millisecond)
	maxBlockSpan = int64(time.Second)
	maxBlockRows = 20_000
)

// Block is queries of a server that are ready to be sent.
type Block struct {
	Server  batch.ResourceID
	Queries *ingestpb.QueryBlock
}

// Flush returns the queries that became ready since the last call. lossy says that packets were lost since then, so that
// no window can claim to be complete.
func (t *Tracker) Flush(lossy bool) []Block {
	t.mu.Lock()
	defer t.mu.Unlock()
	var blocks []Block
	for number, server := range t.servers {
		if server != nil {
			blocks = t.flushServer(blocks, uint16(number), server, lossy)
		}
	}
	return blocks
}

func (t *Tracker) flushServer(blocks []Block, number uint16, server *Server, lossy bool) []Block {
	late := make([]Record, 0, 16)
	server.scanned = t.history.each(server.scanned, func(r *Record) {
		if r.Server == number && r.SeenNS < server.emittedNS && isSlow(r) && len(late) < maxBlockRows {
			late = append(late, *r)
		}
	})
	if len(late) > 0 {
		blocks = append(blocks, t.block(server, late, false, 0, 0))
	}
	settled := t.settledNS(number)
	for len(server.windows) > 0 {
		w := server.windows[0]
		from := max(w.fromNS, server.emittedNS)
		to := min(w.toNS, settled, from+maxBlockSpan)
		if to > from {
			blocks = t.span(blocks, number, server, from, to, lossy)
			server.emittedNS = to
		}
		if server.emittedNS < w.toNS {
			if to <= from || to == settled {
				break // the rest is not settled
			}
			continue
		}
		server.windows = slices.Delete(server.windows, 0, 1)
	}
	return blocks
}

// settledNS is the time before which every query of a server was answered, or is too old to wait for.
func (t *Tracker) settledNS(number uint16) int64 {
	for entry := t.inflight.first(); entry != nil; entry = t.inflight.after(entry) {
		if entry.server == number {
			return max(entry.seenNS, t.nowNS-settleNS)
		}
	}
	return t.nowNS
}

// span sends the queries of [from, to): all of them where possible, else the slow ones.
func (t *Tracker) span(blocks []Block, number uint16, server *Server, from, to int64, lossy bool) []Block {
	first := uint64(0)
	oldestNS := int64(0)
	if n := uint64(len(t.history.records)); t.history.written > n {
		first = t.history.written - n
		oldest := &t.history.records[first%n]
		oldestNS = oldest.SeenNS + int64(oldest.LatencyUS)*1000
	}
	var waited, others []Record
	t.history.each(first, func(r *Record) {
		if r.Server != number || r.SeenNS < from || r.SeenNS >= to {
			return
		}
		if r.HasWait {
			waited = append(waited, *r)
		} else {
			others = append(others, *r)
		}
	})
	rows := len(waited) + len(others)
	if lossy || oldestNS > from || rows > maxBlockRows || !t.tokens.take(rows, t.nowNS) {
		slow := slices.DeleteFunc(append(waited, others...), func(r Record) bool { return !isSlow(&r) })
		if len(slow) == 0 {
			return blocks
		}
		return append(blocks, t.block(server, slow, false, from, to))
	}
	// A block has queue waits for all its rows or for none. The rows without are beside the complete block.
	if len(waited) == 0 {
		return append(blocks, t.block(server, others, true, from, to))
	}
	if len(others) > 0 {
		blocks = append(blocks, t.block(server, others, false, from, to))
	}
	return append(blocks, t.block(server, waited, true, from, to))
}

func isSlow(r *Record) bool { return r.LatencyUS > slowUS }

// block builds the message. Spans of slow queries only fit the rows.
func (t *Tracker) block(server *Server, records []Record, complete bool, fromNS, toNS int64) Block {
	slices.SortFunc(records, func(a, b Record) int { return int(a.SeenNS/1000 - b.SeenNS/1000) })
	if toNS == 0 {
		fromNS, toNS = records[0].SeenNS, records[len(records)-1].SeenNS+1000
	}
	n := len(records)
	q := &ingestpb.QueryBlock{
		Complete: complete, StartUs: fromNS / 1000, EndUs: toNS / 1000,
		OffsetUs: make([]uint32, n), LatencyUs: make([]uint32, n), Result: make([]ingestpb.QueryResult, n),
		Name: make([]uint32, n), Client: make([]uint32, n),
	}
	names, clients := newTexts(), newTexts()
	for i := range records {
		r := &records[i]
		q.OffsetUs[i], q.LatencyUs[i] = uint32(r.SeenNS/1000-q.StartUs), r.LatencyUS
		q.Result[i] = ingestpb.QueryResult(r.Result)
		q.Name[i] = names.number(t.names.get(r.Name))
		q.Client[i] = clients.number(netip.AddrFrom16(r.Client).Unmap().AppendTo(make([]byte, 0, 48)))
		if r.HasWait {
			q.QueueWaitUs = append(q.QueueWaitUs, r.QueueWaitUS)
		}
	}
	if len(q.QueueWaitUs) != n {
		q.QueueWaitUs = nil
	}
	q.Names, q.Clients = names.list, clients.list
	return Block{Server: server.total.Resource, Queries: q}
}

// texts numbers strings in the order of their first use.
type texts struct {
	numbers map[string]uint32
	list    []string
}

func newTexts() *texts { return &texts{numbers: make(map[string]uint32)} }

func (t *texts) number(text []byte) uint32 {
	if n, ok := t.numbers[string(text)]; ok {
		return n
	}
	n := uint32(len(t.list))
	t.list = append(t.list, string(text))
	t.numbers[string(text)] = n
	return n
}
