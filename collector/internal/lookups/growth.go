package lookups

import "time"

// Growth decides when failing lookups are worth tracing: while negative dentries grow. Its memory is bounded.
//
// A storm that cleans up after itself (NSS since 3.52 removes the folder it probed) leaves no growth over seconds, but
// a rise within one: both count.
type Growth struct {
	recent [recentTicks]float64 // at the end of each tick
	ticks  int
	slow   [slowSeconds]float64 // the minimum of each second
	least  float64
	second int64
	count  int

	grewUS  int64
	sinceUS int64 // since when it is worth tracing; 0: it is not
	quietUS int64
	seen    uint64 // failing lookups since then
	why     Why
}

// Why is the growth that made it worth tracing.
type Why struct {
	Grew     float64 // negative dentries
	WithinUS int64
}

const (
	recentTicks = 20
	slowSeconds = 30
	recentRise  = 1_000 // in 2 s
	slowRise    = 3_000 // in 30 s
	// Tracing continues for this long after the last growth: what comes and goes, like the start of a program, comes
	// again. If it came again too late to be seen, the wait is twice as long the next time.
	quietLeastUS = 10_000_000
	quietMostUS  = 120_000_000
	seenLeast    = recentRise / 2
	nowUS        = 3_000_000 // growth more recent than this is ongoing
	// A storm that never ends is not traced all the time, but often enough that a new process is noticed within 10 s.
	fullUS  = 5_000_000
	dutyUS  = 8_000_000
	shareUS = 2_500_000
	// After this long all processes are known.
	longUS     = 600_000_000
	longDutyUS = 60_000_000
)

// Add takes the number of negative dentries at the end of a tick and reports whether to trace from now on.
func (g *Growth) Add(atUS int64, negative float64) bool {
	rise, slow := 0.0, 0.0
	for i := range min(g.ticks, recentTicks) {
		rise = max(rise, negative-g.recent[i])
	}
	for i := range min(g.count, slowSeconds) {
		slow = max(slow, negative-g.slow[i])
	}
	g.remember(atUS, negative)
	grown := false
	if rise >= recentRise {
		grown, g.why = true, Why{rise, recentTicks * 100_000}
	} else if slow >= slowRise && !g.Growing() {
		// Tracing continues only if the growth does: the rise stays in the window.
		grown, g.why = true, Why{slow, slowSeconds * 1_000_000}
	} else if slow >= slowRise && rise >= slowRise*recentTicks/(10*slowSeconds) {
		grown = true
	}
	if grown {
		g.grewUS = atUS
		if g.sinceUS == 0 {
			g.sinceUS = atUS
		}
	} else if g.sinceUS != 0 && atUS-g.grewUS > g.wait() {
		g.end()
	}
	return g.Growing() && (atUS-g.grewUS > nowUS || g.inTurn(atUS))
}

// Saw takes how many lookups were seen to fail.
func (g *Growth) Saw(failures uint64) { g.seen += failures }

// wait is how long to wait for growth that was missed, or might come again.
func (g *Growth) wait() int64 {
	if g.seen >= seenLeast {
		return quietLeastUS
	}
	return max(g.quietUS, quietLeastUS)
}

func (g *Growth) end() {
	g.quietUS = g.wait()
	if g.seen < seenLeast {
		g.quietUS = min(2*g.quietUS, quietMostUS)
	}
	g.sinceUS, g.seen = 0, 0
	g.count = 0 // the growth so far has been accounted for
}

func (g *Growth) remember(atUS int64, negative float64) {
	g.recent[g.ticks%recentTicks] = negative
	g.ticks++
	if second := atUS / 1_000_000; second != g.second {
		if g.second != 0 {
			g.slow[g.count%slowSeconds] = g.least
			g.count++
		}
		g.second, g.least = second, negative
	}
	g.least = min(g.least, negative)
}

// inTurn is true in the first five seconds and then a third of the time.
func (g *Growth) inTurn(atUS int64) bool {
	since, duty := atUS-g.sinceUS, int64(dutyUS)
	if since > longUS {
		duty = longDutyUS
	}
	return since < fullUS || (since-fullUS)%duty >= duty-shareUS
}

// TracedShare is the fraction of a storm of some length that is traced.
func TracedShare(storm time.Duration) float64 {
	const tickUS = 100_000
	g := Growth{sinceUS: 1}
	traced, ticks := 0, int64(storm/time.Microsecond)/tickUS
	for tick := range ticks {
		if g.inTurn(g.sinceUS + tick*tickUS) {
			traced++
		}
	}
	return float64(traced) / float64(max(ticks, 1))
}

// Growing reports whether negative dentries have grown lately.
func (g *Growth) Growing() bool { return g.sinceUS != 0 }

// Why returns by how much they grew when that was last seen.
func (g *Growth) Why() Why { return g.why }
