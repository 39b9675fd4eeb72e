package evidence

import (
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

const maxCandidates = 1 << 14

// candidate looks like a query, but on a port that is not known for DNS.
type candidate struct {
	transport transport
	id        uint16
	ns        int64
	question  []byte
	number    uint64 // serial number of the candidate
	before    int32  // an older one to the same endpoint
}

// candidates is a ring: a new one replaces the oldest.
type candidates struct {
	ring     []candidate
	next     int
	added    uint64
	byKey    map[exchangeKey]int32
	byServer map[dnswire.Endpoint]int32
	lost     uint64
}

func newCandidates() *candidates {
	return &candidates{byKey: map[exchangeKey]int32{}, byServer: map[dnswire.Endpoint]int32{}}
}

func (c *candidates) add(t transport, m *message, ns int64) {
	key := exchangeKey{t.client, t.server, m.id, t.stream}
	if len(c.ring) < maxCandidates {
		c.ring = append(c.ring, candidate{})
	} else if c.ring[c.next].question != nil {
		c.drop(int32(c.next))
		c.lost++
	}
	slot := int32(c.next)
	c.next = (c.next + 1) % maxCandidates
	before := noSlot
	if older, ok := c.byServer[t.server]; ok {
		before = older
	}
	c.added++
	c.ring[slot] = candidate{t, m.id, ns, append(c.ring[slot].question[:0], m.question...), c.added, before}
	c.byKey[key] = slot
	c.byServer[t.server] = slot
}

func (c *candidates) drop(slot int32) {
	old := &c.ring[slot]
	key := exchangeKey{old.transport.client, old.transport.server, old.id, old.transport.stream}
	if c.byKey[key] == slot {
		delete(c.byKey, key)
	}
	if c.byServer[old.transport.server] == slot {
		delete(c.byServer, old.transport.server)
	}
}

// confirm creates a server for an endpoint that answered a candidate's question with the same id; nil if it did not.
func (a *Analyzer) confirm(t transport, m *message) *server {
	slot, ok := a.candidates.byKey[exchangeKey{t.client, t.server, m.id, t.stream}]
	if !ok || m.question == nil || hashQuestion(m.question) != hashQuestion(a.candidates.ring[slot].question) {
		return nil
	}
	if known := a.servers[t.server]; known != nil {
		return known
	}
	if a.confirmed >= maxByContent {
		return nil
	}
	a.confirmed++
	return a.serverAt(t.server, true)
}

// replay counts the queries a server received before it was recognized.
func (a *Analyzer) replay(of *server) {
	c := a.candidates
	slot, ok := c.byServer[of.endpoint]
	var slots []int32
	for ok && slot != noSlot && c.ring[slot].transport.server == of.endpoint && c.ring[slot].question != nil {
		slots = append(slots, slot)
		before := c.ring[slot].before
		// A reused slot holds something younger; packet times can step back a little.
		if before == noSlot || c.ring[before].number > c.ring[slot].number {
			break
		}
		slot = before
	}
	for at := len(slots) - 1; at >= 0; at-- {
		old := &c.ring[slots[at]]
		m := message{id: old.id, question: old.question}
		a.query(old.transport, of, &m, old.ns)
		c.drop(slots[at])
		old.question = nil
	}
	delete(c.byServer, of.endpoint)
}
