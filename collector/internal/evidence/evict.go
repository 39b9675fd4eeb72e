package evidence

import "slices"

// evictHalf removes the entries with the smallest weights, at least one and about half of them. Each eviction makes
// room for as many new entries as it examined, so the cost per new entry stays small.
func evictHalf[K comparable, V any](table map[K]V, weight func(V) uint64, gone func(V)) uint64 {
	weights := make([]uint64, 0, len(table))
	for _, value := range table {
		weights = append(weights, weight(value))
	}
	slices.Sort(weights)
	limit := weights[len(weights)/2]
	remove := func(whether func(uint64) bool) {
		for key, value := range table {
			if len(table) > len(weights)/2 && whether(weight(value)) {
				delete(table, key)
				gone(value)
			}
		}
	}
	remove(func(weight uint64) bool { return weight < limit })
	remove(func(weight uint64) bool { return weight == limit }) // many are alike: no smaller one stays in their place
	return limit
}

// evictServers makes room among the servers. Queries and connections in flight move to a record that is in no table, so
// that nothing retains the memory of the evicted ones.
func (a *Analyzer) evictServers() {
	a.serversEvicted++
	evictHalf(a.servers, func(s *server) uint64 { return s.counts.Queries + s.tcp.Connections }, func(s *server) {
		s.gone = true
		a.leftOutServer.inherit(&s.party)
	})
	for i := range a.exchanges.slots {
		if x := &a.exchanges.slots[i]; x.server != nil && x.server.gone {
			x.server = &a.leftOutServer
			x.forwarded = nil
		} else if x.forwarded != nil && x.forwarded.upstream.gone {
			x.forwarded = nil
		}
	}
	for i := range a.flows.slots {
		if f := &a.flows.slots[i]; f.server != nil && f.server.gone {
			f.server = &a.leftOutServer
		}
	}
}

func (a *Analyzer) evictClients() {
	a.clientsEvicted++
	evictHalf(a.clients, func(c *client) uint64 { return c.counts.Queries + c.tcp.Connections }, func(c *client) {
		c.gone = true
		a.leftOutClient.inherit(&c.party)
	})
	for i := range a.exchanges.slots {
		if x := &a.exchanges.slots[i]; x.client != nil && x.client.gone {
			x.client = &a.leftOutClient
		}
	}
	for i := range a.flows.slots {
		if f := &a.flows.slots[i]; f.client != nil && f.client.gone {
			f.client = &a.leftOutClient
		}
	}
}

// inherit takes over what is in flight at an evicted party.
func (p *party) inherit(from *party) {
	p.inFlight += from.inFlight
	p.tcp.open += from.tcp.open
	p.tcp.idle += from.tcp.idle
}

// longestKeptLabel bounds what waiting queries retain of names that no other query uses.
const longestKeptLabel = 100

// evictNames makes room among the questions.
func (a *Analyzer) evictNames() {
	t := &a.names
	t.floor = max(t.floor, evictHalf(t.byHash, func(n *name) uint64 { return n.queries + n.missedAtMost }, func(n *name) { n.gone = true }))
	t.evicted = true
	for i := range a.exchanges.slots {
		if x := &a.exchanges.slots[i]; x.name != nil && x.name.gone {
			if len(x.name.text) <= longestKeptLabel {
				x.label = x.name.text
			}
			x.name = nil
		}
	}
}
