package evidence

const (
	maxNames       = 16_384
	nameClientsMax = 16
)

// name is one question: a name and a type.
type name struct {
	text               string // "example.com. A"
	hash               uint64
	queries, answers   uint64
	nxdomain, servfail uint64
	timeSumNs          float64
	maxNs, maxAtNs     int64
	missedAtMost       uint64 // upper bound of its queries before it entered the table
	clients            [nameClientsMax]uint64
	clientCount        uint8
	gone               bool // no longer in the table
}

// nameTable knows the most frequent questions: any question asked more often than evictions lost is in it (Misra and
// Gries, 1982, in batches).
type nameTable struct {
	byHash  map[uint64]*name
	floor   uint64 // upper bound of an evicted question's count
	evicted bool
}

// asked counts a question; nil if the capture cut it off.
func (t *nameTable) asked(question []byte, hash, clientHash uint64) *name {
	if hash == 0 {
		return nil
	}
	known := t.byHash[hash]
	if known == nil {
		known = &name{text: questionText(question), hash: hash, missedAtMost: t.floor}
		t.byHash[hash] = known
	}
	known.queries++
	known.askedBy(clientHash)
	return known
}

func (n *name) askedBy(clientHash uint64) {
	for _, known := range n.clients[:n.clientCount] {
		if known == clientHash {
			return
		}
	}
	if n.clientCount < nameClientsMax {
		n.clients[n.clientCount] = clientHash
		n.clientCount++
	}
}

func (n *name) answered(ns, atNs int64, rcode uint8) {
	n.answers++
	n.timeSumNs += float64(ns)
	if ns > n.maxNs || n.answers == 1 {
		n.maxNs, n.maxAtNs = ns, atNs
	}
	switch rcode {
	case 2:
		n.servfail++
	case 3:
		n.nxdomain++
	}
}
