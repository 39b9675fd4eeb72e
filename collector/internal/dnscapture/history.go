package dnscapture

// Results of a query; the numbers are those of ingest.v1 QueryResult.
const (
	resultNoError = iota
	resultNXDomain
	resultServFail
	resultRefused
	resultTimeout
	resultOther
)

// Record is a finished query. There are many, so it is small.
type Record struct {
	SeenNS      int64
	Name        place // in Tracker.names
	Client      place // in Tracker.addresses
	LatencyUS   uint32
	QueueWaitUS uint32 // valid if HasWait
	Server      uint16
	Result      uint8
	HasWait     bool
}

// history is a ring of the queries that finished last, of all servers.
type history struct {
	records []Record
	written uint64
}

func (h *history) put(record Record) {
	h.records[h.written%uint64(len(h.records))] = record
	h.written++
}

// each visits the records from number from on, oldest first, with their places, and returns the number after the last.
// Overwritten ones are skipped.
func (h *history) each(from uint64, visit func(place uint32, record *Record)) uint64 {
	if h.written > uint64(len(h.records)) {
		from = max(from, h.written-uint64(len(h.records)))
	}
	for ; from < h.written; from++ {
		place := uint32(from % uint64(len(h.records)))
		visit(place, &h.records[place])
	}
	return from
}
