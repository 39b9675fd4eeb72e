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
	t.late = t.late[:0]
	server.scanned = t.history.each(server.scanned, func(place uint32, r *Record) {
		if r.Server == number && r.SeenNS < server.emittedNS && isSlow(r) && len(t.late) < maxBlockRows {
			t.late = append(t.late, place)
		}
	})
	if len(t.late) > 0 {
		blocks = append(blocks, t.block(server, t.late, false, 0, 0))
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
	t.waited, t.others = t.waited[:0], t.others[:0]
	t.history.each(first, func(place uint32, r *Record) {
		if r.Server != number || r.SeenNS < from || r.SeenNS >= to {
			return
		}
		if r.HasWait {
			t.waited = append(t.waited, place)
		} else {
			t.others = append(t.others, place)
		}
	})
	waited, others := t.waited, t.others
	rows := len(waited) + len(others)
	if lossy || oldestNS > from || rows > maxBlockRows || !t.tokens.take(rows, t.nowNS) {
		slow := slices.DeleteFunc(append(waited, others...), func(place uint32) bool { return !isSlow(&t.history.records[place]) })
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

// block builds the message of the records at these places. Spans of slow queries only fit the rows.
func (t *Tracker) block(server *Server, places []uint32, complete bool, fromNS, toNS int64) Block {
	records := t.history.records
	slices.SortFunc(places, func(a, b uint32) int { return int(records[a].SeenNS/1000 - records[b].SeenNS/1000) })
	n := len(places)
	if toNS == 0 {
		fromNS, toNS = records[places[0]].SeenNS, records[places[n-1]].SeenNS+1000
	}
	q := &ingestpb.QueryBlock{
		Complete: complete, StartUs: fromNS / 1000, EndUs: toNS / 1000,
		OffsetUs: make([]uint32, n), LatencyUs: make([]uint32, n), Result: make([]ingestpb.QueryResult, n),
		Name: make([]uint32, n), Client: make([]uint32, n),
	}
	names, clients := newTexts(), newTexts()
	for i, place := range places {
		r := &records[place]
		q.OffsetUs[i], q.LatencyUs[i] = uint32(r.SeenNS/1000-q.StartUs), r.LatencyUS
		q.Result[i] = ingestpb.QueryResult(r.Result)
		q.Name[i] = names.number(t.names.get(r.Name))
		q.Client[i] = clients.number(addressText(t.addresses.get(r.Client)))
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

// addressText writes an address as people do; nothing for one that is lost.
func addressText(raw []byte) []byte {
	if len(raw) != 16 {
		return nil
	}
	return netip.AddrFrom16([16]byte(raw)).Unmap().AppendTo(make([]byte, 0, 48))
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
