package requests

import (
	"math/bits"
	"sync/atomic"
)

const (
	// timedPerSecond is how many requests of a server are timed each second, at least half of it: timing one costs the
	// server about 2 us, and a p99 of a second needs no more. Below it, all are.
	timedPerSecond = 1000
	// Ticks over which the rate is measured.
	rateTicks = 10
	// Fewer are passed over only if the rate falls this far below where more are: it would go back and forth.
	calmRatio = 0.75
	mostShift = 7 // MOST_SHIFT of the programs
)

// choose decides every second which part of the requests is timed, and tells the programs.
func (s *Server) choose(tick uint32, told *uint32) {
	passed := tick - s.sinceTick
	if passed < rateTicks {
		return
	}
	if passed < 2*rateTicks { // otherwise ticks were missed, or it is new
		s.shift = shiftFor(float64(s.came-s.cameBefore)*rateTicks/float64(passed), s.shift)
		atomic.StoreUint32(told, s.shift)
		s.passing = s.passing || s.shift > 0
	}
	s.sinceTick, s.cameBefore = tick, s.came
}

// shiftFor returns for which part of perSecond requests the limit is kept, given the part so far.
func shiftFor(perSecond float64, was uint32) uint32 {
	shift := func(rate float64) uint32 {
		return min(mostShift, uint32(bits.Len(uint(max(0, rate-1))/timedPerSecond)))
	}
	now := shift(perSecond)
	if now < was {
		now = min(was, shift(perSecond/calmRatio))
	}
	return now
}
