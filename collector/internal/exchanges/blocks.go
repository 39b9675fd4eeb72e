package exchanges

import (
	"net/netip"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

const (
	// Patience is how long a window waits for answers to its exchanges, in nanoseconds. An exchange that takes longer
	// follows as a slow one when it is answered or given up.
	Patience     = int64(1500 * time.Millisecond)
	maxBlockSpan = int64(time.Second)
	maxBlockRows = 20_000
)

// Block is a set of exchanges of a server that are ready to be sent.
type Block struct {
	Server  batch.ResourceID
	Queries *ingestpb.QueryBlock
}

// Flush appends what became ready for a server since the last call. Everything seen before settledNS has been answered
// or is too old to wait for (see Patience). lossy says that exchanges were lost since then, so no window can claim to
// be complete.
func (h *History) Flush(blocks []Block, number uint16, server *Server, settledNS, nowNS int64, lossy bool) []Block {
	h.late = h.late[:0]
	server.scanned = h.each(server.scanned, func(place uint32, r *Record) {
		if r.Server == number && r.SeenNS < server.emittedNS && isSlow(r) && len(h.late) < maxBlockRows {
			h.late = append(h.late, place)
		}
	})
	if len(h.late) > 0 {
		blocks = append(blocks, h.block(server, h.late, false, 0, 0))
	}
	for len(server.windows) > 0 {
		w := server.windows[0]
		from := max(w.fromNS, server.emittedNS)
		to := min(w.toNS, settledNS, from+maxBlockSpan)
		if to > from {
			blocks = h.span(blocks, number, server, from, to, nowNS, lossy)
			server.emittedNS = to
		}
		if server.emittedNS < w.toNS {
			if to <= from || to == settledNS {
				break // the rest is not settled
			}
			continue
		}
		server.windows = slices.Delete(server.windows, 0, 1)
	}
	return blocks
}

// span sends the queries of [from, to): all of them if possible, otherwise the slow ones.
func (h *History) span(blocks []Block, number uint16, server *Server, from, to, nowNS int64, lossy bool) []Block {
	first := uint64(0)
	oldestNS := int64(0)
	if n := uint64(len(h.records)); h.written > n {
		first = h.written - n
		oldest := &h.records[first%n]
		oldestNS = oldest.SeenNS + int64(oldest.LatencyUS)*1000
	}
	h.waited, h.others = h.waited[:0], h.others[:0]
	h.each(first, func(place uint32, r *Record) {
		if r.Server != number || r.SeenNS < from || r.SeenNS >= to {
			return
		}
		if r.HasWait {
			h.waited = append(h.waited, place)
		} else {
			h.others = append(h.others, place)
		}
	})
	waited, others := h.waited, h.others
	rows := len(waited) + len(others)
	if lossy || oldestNS > from || rows > maxBlockRows || !h.tokens.take(rows, nowNS) {
		slow := slices.DeleteFunc(append(waited, others...), func(place uint32) bool { return !isSlow(&h.records[place]) })
		if len(slow) == 0 {
			return blocks
		}
		return append(blocks, h.block(server, slow, false, from, to))
	}
	// A block has queue waits for all its rows or for none. The rows without go into another block beside the complete
	// one.
	if len(waited) == 0 {
		return append(blocks, h.block(server, others, true, from, to))
	}
	if len(others) > 0 {
		blocks = append(blocks, h.block(server, others, false, from, to))
	}
	return append(blocks, h.block(server, waited, true, from, to))
}

func isSlow(r *Record) bool { return r.LatencyUS > catalogue.SlowUS }

// block builds the message of the records at these places. Spans of only slow queries are trimmed to the rows.
func (h *History) block(server *Server, places []uint32, complete bool, fromNS, toNS int64) Block {
	records := h.records
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
	names, clients := newNumbered(), newNumbered()
	for i, place := range places {
		r := &records[place]
		q.OffsetUs[i], q.LatencyUs[i] = uint32(r.SeenNS/1000-q.StartUs), r.LatencyUS
		q.Result[i] = ingestpb.QueryResult(r.Result)
		q.Name[i] = names.number(h.Names.Get(r.Name))
		q.Client[i] = clients.number(addressText(h.Clients.Get(r.Client)))
		if r.HasWait {
			q.QueueWaitUs = append(q.QueueWaitUs, r.QueueWaitUS)
		}
	}
	if len(q.QueueWaitUs) != n {
		q.QueueWaitUs = nil
	}
	q.Names, q.Clients = names.list, clients.list
	return Block{Server: server.Resource, Queries: q}
}

// addressText formats an address for people; it returns nothing for one that is lost.
func addressText(raw []byte) []byte {
	if len(raw) != 16 {
		return nil
	}
	return netip.AddrFrom16([16]byte(raw)).Unmap().AppendTo(make([]byte, 0, 48))
}

// numbered numbers strings in the order of their first use.
type numbered struct {
	numbers map[string]uint32
	list    []string
}

func newNumbered() *numbered { return &numbered{numbers: make(map[string]uint32)} }

func (n *numbered) number(text []byte) uint32 {
	if known, ok := n.numbers[string(text)]; ok {
		return known
	}
	next := uint32(len(n.list))
	n.list = append(n.list, string(text))
	n.numbers[string(text)] = next
	return next
}
