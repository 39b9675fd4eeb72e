package dnscapture

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
	"github.com/jitterscope/jitterscope/collector/internal/offheap"
)

// flow identifies a query until it is answered.
type flow struct {
	client   dnswire.Endpoint
	server   uint16 // index of the server
	id       uint16
	protocol uint8
}

// pending is a query that has no answer yet.
type pending struct {
	flow
	seenNS       int64
	name         exchanges.Place
	interface_   int32
	path         uint16
	next         int32 // in its hash chain or in the free list
	older, newer int32 // in order of arrival
}

// none is the index of no entry: untouched memory is then an empty table.
const none = int32(0)

// inflight holds the unanswered queries of all servers: a hash table with the entries in one slice and linked in order
// of arrival. It never grows.
type inflight struct {
	entries        []pending
	used           int32 // entries used so far, the first of which stands for none; memory beyond was never touched
	free           int32
	chains         []int32
	oldest, newest int32
	seed           maphash.Seed
	// Overflow counts queries that did not fit.
	overflow uint64
}

func newInflight(capacity int) *inflight {
	t := &inflight{used: 1, free: none, oldest: none, newest: none, seed: maphash.MakeSeed()}
	t.entries, t.chains = offheap.Make[pending](t, capacity+1), offheap.Make[int32](t, 2*capacity)
	return t
}

// chain hashes with a random seed, so that a sender cannot choose collisions.
func (t *inflight) chain(f *flow) *int32 {
	var key [23]byte
	copy(key[:], f.client.Address[:])
	binary.LittleEndian.PutUint16(key[16:], f.client.Port)
	binary.LittleEndian.PutUint16(key[18:], f.server)
	binary.LittleEndian.PutUint16(key[20:], f.id)
	key[22] = f.protocol
	return &t.chains[maphash.Bytes(t.seed, key[:])%uint64(len(t.chains))]
}

func (t *inflight) find(f *flow) *pending {
	for i := *t.chain(f); i != none; i = t.entries[i].next {
		if t.entries[i].flow == *f {
			return &t.entries[i]
		}
	}
	return nil
}

// add returns a new entry for f, which must not be in the table; nil if the table is full.
func (t *inflight) add(f *flow) *pending {
	i := t.free
	switch {
	case i != none:
		t.free = t.entries[i].next
	case int(t.used) < len(t.entries):
		i = t.used
		t.used++
	default:
		t.overflow++
		return nil
	}
	chain := t.chain(f)
	t.entries[i] = pending{flow: *f, next: *chain, older: t.newest, newer: none}
	*chain = i
	if t.newest != none {
		t.entries[t.newest].newer = i
	} else {
		t.oldest = i
	}
	t.newest = i
	return &t.entries[i]
}

func (t *inflight) remove(p *pending) {
	link := t.chain(&p.flow)
	for t.entries[*link].flow != p.flow {
		link = &t.entries[*link].next
	}
	i := *link
	*link = p.next
	if p.older != none {
		t.entries[p.older].newer = p.newer
	} else {
		t.oldest = p.newer
	}
	if p.newer != none {
		t.entries[p.newer].older = p.older
	} else {
		t.newest = p.older
	}
	p.next = t.free
	t.free = i
}

// first returns the oldest query, nil if there is none.
func (t *inflight) first() *pending {
	if t.oldest == none {
		return nil
	}
	return &t.entries[t.oldest]
}

// after returns the query that arrived after p.
func (t *inflight) after(p *pending) *pending {
	if p.newer == none {
		return nil
	}
	return &t.entries[p.newer]
}
