package sampler

import "time"

// Pace reads a file at each tick where that is cheap and less often where it is not: the kernel makes some of these files
// by visiting every CPU, and a node may have hundreds.
type Pace struct {
	cost  time.Duration // smoothed
	every uint64        // ticks
	began time.Time
}

// paceBudget is how long reading one file may take on average over ticks: 0.04 % of a CPU.
const paceBudget = 40 * time.Microsecond

// Begin tells whether to read at this tick; then End has to follow.
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

// End takes the time that reading took.
func (p *Pace) End() {
	took := time.Since(p.began)
	if p.cost == 0 {
		p.cost = min(took, paceBudget/2) // the first fills caches, or was put aside: it says little
	}
	took = min(took, 4*p.cost+paceBudget) // not the thread that was put aside meanwhile
	p.cost += (took - p.cost) / 16
	wanted := min(uint64(p.cost/paceBudget)+1, SlowEvery)
	if p.every = max(p.every, 1); wanted > p.every || p.cost < time.Duration(p.every-1)*paceBudget*3/4 {
		p.every = wanted
	}
}
