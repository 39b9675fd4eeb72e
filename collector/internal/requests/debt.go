package requests

import (
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
)

// abandonedNS is how long the same requests stay unanswered until they are no longer waited for: a long poll, or a
// message that needs no answer.
const abandonedNS = 10_000_000_000

// Debt is the owing.Debt of a server, from what the programs count. It sees an answer at the next look only, so its
// owner looks often.
type Debt struct {
	counts  *bpf.RequestsCounts
	settled uint32 // came minus ended when no request was waited for
	ended   uint32
	sinceNS int64
	broken  int64
	lookNS  int64
}

// Debt returns what a server owes from now on.
func (t *Tracker) Debt(server *Server) *Debt {
	d := &Debt{counts: &t.programs.counts[server.number]}
	came, ended := d.read()
	d.settled, d.ended = came-ended, ended
	return d
}

func (d *Debt) read() (came, ended uint32) {
	ended = atomic.LoadUint32(&d.counts.Ended) // first: a request that comes and ends in between is owed at most
	for i := range d.counts.Passed {
		ended += atomic.LoadUint32(&d.counts.Passed[i])
	}
	for i := range d.counts.Came {
		came += atomic.LoadUint32(&d.counts.Came[i])
	}
	return came, ended
}

// SilentSinceNS implements owing.Debt.
func (d *Debt) SilentSinceNS(nowNS int64) int64 {
	came, ended := d.read()
	owed := int32(came - ended - d.settled)
	if owed < 0 { // requests that were not waited for have ended
		d.settled, owed = came-ended, 0
	}
	switch {
	case ended != d.ended || owed == 0 || d.sinceNS == 0:
		if d.sinceNS != 0 && ended != d.ended {
			d.broken = d.lookNS
		}
		d.sinceNS = 0
		if owed > 0 {
			d.sinceNS = nowNS
		}
	case nowNS-d.sinceNS > abandonedNS:
		d.settled, d.sinceNS = came-ended, 0
	}
	d.ended, d.lookNS = ended, nowNS
	return d.sinceNS
}

// BrokenNS implements owing.Debt: the last look before the answer.
func (d *Debt) BrokenNS() int64 { return d.broken }
