package evidence

// maxForwardings bounds the pairs of servers; maxSameQuestion bounds how many waiting queries with one question are
// examined.
const (
	maxForwardings  = 256
	maxSameQuestion = 8
)

// forwarded is what a waiting query knows about its forwarding.
type forwarded struct {
	upstream           *server
	firstNs            int64 // when it was sent to the upstream
	sentNs, upstreamNs int64
	waiting            bool // the upstream has not answered
}

// forwarding is one server querying another: where the time of a query goes.
type forwarding struct {
	queries                                     uint64
	total, beforeForward, upstreamTime, ownTime histogram
}

type serverPair struct{ server, upstream *server }

// forwards looks for the query that this new one forwards: the same question, waiting at another server, which is the
// client here, or at least not from the same client (which might query a second server after the first). The newest
// fits best: in a chain of servers it is the nearest.
func (a *Analyzer) forwards(x *exchange) {
	if x.hash == 0 {
		return
	}
	var best *exchange
	at := x.same
	for range maxSameQuestion {
		before := a.exchanges.linked(at)
		if before == nil || before.hash != x.hash {
			break
		}
		at = before.same
		asksItself := before.key.server.Address == x.key.client.Address
		if before.server == x.server || before.server == &a.leftOutServer || before.expired || before.forwarded != nil && !sameForwarding(before, x) ||
			!asksItself && before.key.client.Address == x.key.client.Address {
			continue
		}
		if before.key.id == x.key.id {
			best = before
			break
		}
		if best == nil {
			best = before
		}
	}
	if best == nil {
		return
	}
	x.parent = link{a.exchanges.byKey[best.key], best.serial}
	if best.forwarded == nil {
		best.forwarded = &forwarded{upstream: x.server, firstNs: x.sentNs}
	}
	best.forwarded.sentNs, best.forwarded.waiting = x.sentNs, true
}

// sameForwarding reports that the query was forwarded before without an answer: this is another attempt.
func sameForwarding(before, x *exchange) bool {
	return before.forwarded.waiting && before.forwarded.upstream == x.server && x.sentNs-before.forwarded.sentNs > copyWithinNs*100
}

// upstreamAnswered records the upstream's time with the query that was forwarded.
func (a *Analyzer) upstreamAnswered(x *exchange, ns int64) {
	parent := a.exchanges.linked(x.parent)
	if parent == nil || parent.forwarded == nil {
		return
	}
	parent.forwarded.waiting = false
	parent.forwarded.upstreamNs = max(0, ns-parent.forwarded.firstNs)
}

// forwardingDone counts a query that was answered after its upstream answered.
func (a *Analyzer) forwardingDone(x *exchange, ns int64) {
	via := x.forwarded
	if via == nil || via.waiting {
		return
	}
	pair := serverPair{x.server, via.upstream}
	known := a.forwarding[pair]
	if known == nil {
		if len(a.forwarding) >= maxForwardings {
			a.forwardingsLost = true
			return
		}
		known = &forwarding{}
		a.forwarding[pair] = known
	}
	total := ns - x.sentNs
	known.queries++
	known.total.add(observe(total))
	known.beforeForward.add(observe(via.firstNs - x.sentNs))
	known.upstreamTime.add(observe(via.upstreamNs))
	known.ownTime.add(observe(total - via.upstreamNs))
}
