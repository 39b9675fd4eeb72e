// Package exchanges keeps what servers have recently finished, DNS queries or requests of any protocol, and selects
// what is wanted: the slow ones, and all of those around a trigger.
package exchanges

import "github.com/jitterscope/jitterscope/collector/internal/offheap"

// Results of an exchange; the numbers are those of ingest.v1 QueryResult.
const (
	ResultNoError = iota
	ResultNXDomain
	ResultServFail
	ResultRefused
	ResultTimeout
	ResultOther
)

// Nobody is the number that belongs to no server.
const Nobody = ^uint16(0)

const (
	nameBytes    = 1 << 20
	addressBytes = 1 << 18 // 15,000 clients
)

// Record is a finished exchange. There are many, so it is small.
type Record struct {
	SeenNS      int64
	Name        Place // in History.Names
	Client      Place // in History.Clients
	LatencyUS   uint32
	QueueWaitUS uint32 // valid if HasWait
	Server      uint16
	Result      uint8
	HasWait     bool
}

// History is a ring of the most recently finished exchanges of all servers. Its owner locks it.
type History struct {
	Names, Clients *Texts

	records []Record
	written uint64
	tokens  tokens

	// Scratch space of flushing, reused: places in the ring.
	late, waited, others []uint32
}

// NewHistory creates a ring with room for capacity exchanges.
func NewHistory(capacity int) *History {
	h := &History{Names: NewTexts(nameBytes), Clients: NewTexts(addressBytes), tokens: newTokens()}
	h.records = offheap.Make[Record](h, capacity)
	return h
}

// Put adds a finished exchange.
func (h *History) Put(record Record) {
	h.records[h.written%uint64(len(h.records))] = record
	h.written++
}

// Watch makes a server look for late exchanges from now on.
func (h *History) Watch(server *Server) { server.scanned = h.written }

// Forget detaches the exchanges of a server: its number will be reused for another server.
func (h *History) Forget(number uint16) {
	for i := range h.records {
		if h.records[i].Server == number {
			h.records[i].Server = Nobody
		}
	}
}

// each visits the records with number from and above, oldest first, with their places, and returns the number after the
// last. Overwritten ones are skipped.
func (h *History) each(from uint64, visit func(place uint32, record *Record)) uint64 {
	if h.written > uint64(len(h.records)) {
		from = max(from, h.written-uint64(len(h.records)))
	}
	for ; from < h.written; from++ {
		place := uint32(from % uint64(len(h.records)))
		visit(place, &h.records[place])
	}
	return from
}
