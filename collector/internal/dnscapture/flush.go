package dnscapture

import (
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
)

// Flush returns the queries that became ready since the last call. lossy says that packets were lost since then, so no
// window can claim to be complete.
func (t *Tracker) Flush(lossy bool) []exchanges.Block {
	t.mu.Lock()
	defer t.mu.Unlock()
	var blocks []exchanges.Block
	for number, server := range t.servers {
		if server != nil {
			blocks = t.history.Flush(blocks, uint16(number), &server.kept, t.settledNS(uint16(number)), t.nowNS, lossy)
		}
	}
	return blocks
}

// settledNS is the time before which every query of a server has been answered or has expired.
func (t *Tracker) settledNS(number uint16) int64 {
	for entry := t.inflight.first(); entry != nil; entry = t.inflight.after(entry) {
		if entry.server == number {
			return max(entry.seenNS, t.nowNS-exchanges.Patience)
		}
	}
	return t.nowNS
}

// watchFor opens a window if the tick that ends at endUS gives a reason: a slow query or throttling.
func (t *Tracker) watchFor(server *Server, endUS int64, recorder Recorder, throttled func(*Server) bool) {
	nowNS := endUS * 1000
	if atNS, asked := server.kept.TakeSlow(nowNS); asked != exchanges.Nothing {
		server.WantNames()
		recorder.Trigger(server.Subject, "slow_query", atNS/1000)
		if asked == exchanges.Slower {
			recorder.Trigger(server.Subject, "slower_query", atNS/1000)
		}
	}
	if throttled(server) {
		server.WantNames()
		server.kept.WantTick(nowNS)
	}
}
