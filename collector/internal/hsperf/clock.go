package hsperf

import "math"

// Clock converts the JVM's ticks, which count from its start, to CLOCK_MONOTONIC, which the JVM uses to count them. The
// file gives the start time no better than to a millisecond or more. But a value that the JVM has just written is not
// from the future: the JVM started at the latest when the value was first seen, minus the value. The earliest of these
// bounds is used; its error is how long the best-fitting value had been there when it was seen.
type Clock struct {
	ticks     Number
	frequency int64
	last      int64
	seen      bool
	startNS   int64
	bounded   bool
}

// Clock prepares the clock of a JVM.
func (l *Layout) Clock(data []byte) Clock {
	frequency := l.Number("sun.os.hrt.frequency").In(data)
	if frequency <= 0 {
		frequency = 1_000_000_000
	}
	return Clock{ticks: l.Number("sun.os.hrt.ticks"), frequency: frequency}
}

// Look uses the time that the JVM writes every 50 ms (PerfDataSamplingInterval) if it is new. monotonicNS is when the
// file had been read. It reports whether there was a new one.
func (c *Clock) Look(data []byte, monotonicNS int64) (fresh bool) {
	now := c.ticks.In(data)
	fresh = c.seen && now != c.last
	if fresh {
		c.Bound(now, monotonicNS)
	}
	c.last, c.seen = now, c.ticks.Known()
	return fresh
}

// Bound uses a moment of the JVM that had passed at monotonicNS.
func (c *Clock) Bound(ticks, monotonicNS int64) {
	if start := monotonicNS - c.ns(ticks); !c.bounded || start < c.startNS {
		c.startNS, c.bounded = start, true
	}
}

// Known reports whether moments can be placed.
func (c *Clock) Known() bool { return c.bounded }

// NS is a moment of the JVM in CLOCK_MONOTONIC.
func (c *Clock) NS(ticks int64) int64 { return c.startNS + c.ns(ticks) }

// US is a duration in microseconds.
func (c *Clock) US(ticks int64) int64 { return c.ns(ticks) / 1000 }

func (c *Clock) ns(ticks int64) int64 {
	if c.frequency == 1_000_000_000 {
		return ticks
	}
	return int64(math.Round(float64(ticks) / float64(c.frequency) * 1e9))
}
