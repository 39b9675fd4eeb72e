package evidence

import (
	"hash/maphash"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// exchangeKey identifies the query that an answer belongs to: same flow, same id. stream is 0 for UDP.
type exchangeKey struct {
	client, server dnswire.Endpoint
	id             uint16
	stream         uint32
}

// exchange is a query that waits for its answer.
type exchange struct {
	key       exchangeKey
	sentNs    int64
	hash      uint64 // of the question, 0: unknown
	server    *server
	client    *client
	name      *name
	label     string     // of a name evicted in the meantime, if it is not too long
	flow      *flowTally // of its TCP connection
	first     bool       // the first query of a connection whose start is in the file
	expired   bool       // no longer counted as in flight
	serial    uint64     // of this use of the slot
	same      link       // an older exchange with the same question
	parent    link       // the query at another server that this one forwards
	forwarded *forwarded
	older     int32 // neighbors in the order of sending; noSlot at the ends
	newer     int32
}

// link refers to an exchange safely: its slot can have been reused.
type link struct {
	slot   int32
	serial uint64
}

const noSlot = int32(-1)

// maxWaiting bounds the waiting queries: the oldest is given up for a newer one.
const maxWaiting = 1 << 16

// exchanges holds the waiting queries, indexed by key and in the order of sending.
type exchanges struct {
	slots          []exchange
	free           []int32
	byKey          map[exchangeKey]int32
	latest         map[uint64]link // by question
	oldest, newest int32
	onTheWay       int32 // the oldest that is not expired
	serial         uint64
}

func newExchanges() *exchanges {
	return &exchanges{
		byKey: map[exchangeKey]int32{}, latest: map[uint64]link{}, oldest: noSlot, newest: noSlot, onTheWay: noSlot,
	}
}

func (e *exchanges) full() bool { return len(e.byKey) >= maxWaiting }

// add allocates a slot for a new exchange; the caller fills it in.
func (e *exchanges) add(key exchangeKey, hash uint64) *exchange {
	var slot int32
	if last := len(e.free) - 1; last >= 0 {
		slot = e.free[last]
		e.free = e.free[:last]
	} else {
		slot = int32(len(e.slots))
		e.slots = append(e.slots, exchange{})
	}
	e.serial++
	made := &e.slots[slot]
	*made = exchange{key: key, hash: hash, serial: e.serial, same: link{slot: noSlot}, parent: link{slot: noSlot}, older: e.newest, newer: noSlot}
	if e.newest != noSlot {
		e.slots[e.newest].newer = slot
	} else {
		e.oldest = slot
	}
	e.newest = slot
	if e.onTheWay == noSlot {
		e.onTheWay = slot
	}
	e.byKey[key] = slot
	if hash != 0 {
		if before, ok := e.latest[hash]; ok {
			made.same = before
		}
		e.latest[hash] = link{slot, e.serial}
	}
	return made
}

func (e *exchanges) find(key exchangeKey) *exchange {
	if slot, ok := e.byKey[key]; ok {
		return &e.slots[slot]
	}
	return nil
}

// linked returns the target of a link, if it still waits.
func (e *exchanges) linked(to link) *exchange {
	if to.slot == noSlot || e.slots[to.slot].serial != to.serial {
		return nil
	}
	return &e.slots[to.slot]
}

func (e *exchanges) remove(x *exchange) {
	slot := e.byKey[x.key]
	delete(e.byKey, x.key)
	if latest, ok := e.latest[x.hash]; ok && latest.serial == x.serial {
		if e.linked(x.same) != nil {
			e.latest[x.hash] = x.same
		} else {
			delete(e.latest, x.hash)
		}
	}
	if x.older != noSlot {
		e.slots[x.older].newer = x.newer
	} else {
		e.oldest = x.newer
	}
	if x.newer != noSlot {
		e.slots[x.newer].older = x.older
	} else {
		e.newest = x.older
	}
	if e.onTheWay == slot {
		e.onTheWay = x.newer
	}
	*x = exchange{}
	e.free = append(e.free, slot)
}

const (
	// A client repeats a query only after some milliseconds; what comes sooner is the same packet, captured twice.
	copyWithinNs = 1e6
	// repeatWithinNs is Wireshark's limit for calling a query a retransmission; later it is a separate query.
	repeatWithinNs = 5e9
	// giveUpNs is when a query no longer counts as in flight.
	giveUpNs = 10e9
)

// recentAnswers remembers the latest answered queries, to distinguish a repeated answer from one whose query is not in
// the file.
type recentAnswers [1 << 13]struct {
	hash uint64
	ns   int64
}

func (r *recentAnswers) note(key exchangeKey, ns int64) {
	hash := maphash.Comparable(seed, key)
	at := &r[hash%uint64(len(r))]
	at.hash, at.ns = hash, ns
}

// when returns the time of the answer to the query, and whether it was one of the latest.
func (r *recentAnswers) when(key exchangeKey) (int64, bool) {
	hash := maphash.Comparable(seed, key)
	at := &r[hash%uint64(len(r))]
	return at.ns, at.hash == hash
}
