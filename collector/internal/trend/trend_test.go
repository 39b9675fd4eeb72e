package trend

import "testing"

func firstReached(ticks int, limit float64, value func(tick int) float64) int {
	var t Trend
	for tick := range ticks {
		t.Add(int64(tick+1)*100_000, value(tick))
		if t.Reaches(limit, MemoryHorizonUS) {
			return tick
		}
	}
	return -1
}

func TestTrend(t *testing.T) {
	const mib = 1 << 20
	for name, sample := range map[string]struct {
		limit       float64
		value       func(tick int) float64
		first, last int // the tick in which it is noticed; -1: never
	}{
		"64 MiB in 2.2 s":  {64 * mib, func(tick int) float64 { return 10*mib + float64(tick)*2.45*mib }, 4, 8},
		"170 MiB in 6.6 s": {170 * mib, func(tick int) float64 { return 30*mib + float64(tick)*2.12*mib }, 4, 8},
		"burst after calm": {170 * mib, func(tick int) float64 { return 30*mib + max(0, float64(tick-50))*2.12*mib }, 52, 58},
		"a minute away":    {170 * mib, func(tick int) float64 { return 30*mib + float64(tick)*0.2*mib }, 590, 620}, // the last ten seconds
		"calm":             {170 * mib, func(int) float64 { return 169 * mib }, -1, -1},
		"a single step":    {170 * mib, func(tick int) float64 { return 30*mib + 100*mib*float64(min(tick/20, 1)) }, -1, -1},
		"falling":          {170 * mib, func(tick int) float64 { return 160*mib - float64(tick)*mib }, -1, -1},
	} {
		got := firstReached(700, sample.limit, sample.value)
		if got < sample.first || got > sample.last {
			t.Errorf("%s: noticed in tick %d, not %d to %d", name, got, sample.first, sample.last)
		}
	}
	var repeated Trend
	if !repeated.Ask(5_000_000, MemoryAgainUS) || repeated.Ask(6_000_000, MemoryAgainUS) || !repeated.Ask(7_000_000, MemoryAgainUS) {
		t.Error("it does not ask every two seconds")
	}
}
