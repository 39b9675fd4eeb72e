package sampler

import "time"

// Pace reads a file at each tick if that is cheap and less often if not: the kernel generates some of these files by
// visiting every CPU, and a node can have hundreds.
type Pace struct {
	cost  time.Duration // smoothed
	every uint64        // ticks
	began time.Time
}

// paceBudget is how long reading one file can take per tick on average: 0.04 % of a CPU.
const paceBudget = 40 * time.Microsecond

// Begin reports whether to read at this tick; if so, End must follow.
func (p *Pace) Begin(tick Tick, offset uint64) bool {
	every := max(p.every, 1)
	if tick.Shed >= ShedSlowGauges {
		every = SlowEvery
	}
	if (tick.Sequence+offset)%every != 0 {
		return false
	}
	p.began = time.Now()
	return true
}

// End measures the time that reading took.
func (p *Pace) End() {
	took := time.Since(p.began)
	if p.cost == 0 {
		p.cost = min(took, paceBudget/2) // the first one fills caches, or was preempted: it says little
	}
	took = min(took, 4*p.cost+paceBudget) // do not count preemption of the thread
	p.cost += (took - p.cost) / 16
	wanted := min(uint64(p.cost/paceBudget)+1, SlowEvery)
	if p.every = max(p.every, 1); wanted > p.every || p.cost < time.Duration(p.every-1)*paceBudget*3/4 {
		p.every = wanted
	}
}
