package source

import (
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// firstReached adds what value gives, a tick after the other, and returns the first tick in which limit is near.
func firstReached(ticks int, limit float64, value func(tick int) float64) int {
	var t trend
	for tick := range ticks {
		t.add(int64(tick+1)*100_000, value(tick))
		if t.reaches(limit, memoryHorizonUS) {
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
	var repeated trend
	if !repeated.ask(5_000_000, memoryAgainUS) || repeated.ask(6_000_000, memoryAgainUS) || !repeated.ask(7_000_000, memoryAgainUS) {
		t.Error("it does not ask every two seconds")
	}
}

// TestCacheIsNoGrowth: a cgroup that reads files fills up to its limit, too.
func TestCacheIsNoGrowth(t *testing.T) {
	const mib = 1 << 20
	grow := func(anonPerTick, cachePerTick float64) (noticed bool) {
		var g memoryGrowth
		g.limit.Store(200 * mib)
		for tick := range 60 {
			now := int64(tick+1) * 100_000
			cache := 10*mib + float64(tick)*cachePerTick
			usage := cache + 20*mib + float64(tick)*anonPerTick
			if usage > 200*mib {
				break
			}
			if g.candidate(now, usage) {
				if g.cache.add(now, cache); g.certain(usage) {
					noticed = true
				}
			} else if tick%slowEvery == 0 {
				g.cache.add(now, cache)
			}
		}
		return noticed
	}
	for name, sample := range map[string]struct {
		anon, cache float64
		want        bool
	}{
		"memory": {3 * mib, 0, true}, "files": {0, 3 * mib, false}, "both": {2 * mib, 2 * mib, true}, "files, and a little memory": {0.01 * mib, 4 * mib, false},
	} {
		if got := grow(sample.anon, sample.cache); got != sample.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	var unlimited memoryGrowth
	unlimited.limit.Store(-1)
	for tick := range 20 {
		if unlimited.candidate(int64(tick)*100_000, float64(tick)*1e9) {
			t.Error("a cgroup without a limit is on its way to one")
		}
	}
}

func TestDentryGrowth(t *testing.T) {
	run := func(seconds int, state func(second float64) procfs.DentryState) (first float64) {
		var g dentryGrowth
		for tick := range seconds * 10 {
			at := float64(tick+1) / 10
			if g.add(int64(at*1e6), state(at)) {
				return at
			}
		}
		return -1
	}
	negative := func(count float64) procfs.DentryState {
		return procfs.DentryState{Dentries: uint64(count) + 90_000, Unused: uint64(count) + 50_000, Negative: uint64(count)}
	}
	for name, sample := range map[string]struct {
		state       func(second float64) procfs.DentryState
		first, last float64
	}{
		"2,000/s":                {func(s float64) procfs.DentryState { return negative(6000 + 2000*s) }, 4, 6.5},
		"100,000/s":              {func(s float64) procfs.DentryState { return negative(6000 + 100_000*s) }, 0.9, 2},
		"after ten seconds":      {func(s float64) procfs.DentryState { return negative(6000 + 10_000*max(0, s-10)) }, 11, 15},
		"500/s":                  {func(s float64) procfs.DentryState { return negative(6000 + 500*s) }, -1, -1},
		"a compiler, once":       {func(s float64) procfs.DentryState { return negative(6000 + 15_000*min(1, max(0, s-10))) }, -1, -1},
		"up and down":            {func(s float64) procfs.DentryState { return negative(20_000 + 4000*float64(int(s)%2)) }, -1, -1},
		"old kernel, 100,000/s":  {func(s float64) procfs.DentryState { return procfs.DentryState{Unused: uint64(100_000 * s)} }, 0.9, 2},
		"old kernel, real files": {func(s float64) procfs.DentryState { return procfs.DentryState{Unused: uint64(4000 * s)} }, -1, -1},
		"dropped, then counted":  {func(s float64) procfs.DentryState { return negative(max(0, 5e6-1e7*s)) }, -1, -1},
	} {
		if got := run(30, sample.state); got < sample.first || got > sample.last {
			t.Errorf("%s: noticed after %.1f s, not %.1f to %.1f", name, got, sample.first, sample.last)
		}
	}
}

// TestPace reads at each tick what is cheap and less often what is not, and more often again when it becomes cheap.
func TestPace(t *testing.T) {
	reads := func(p *pace, ticks int, cost time.Duration, shed int) (count int) {
		for i := range ticks {
			if p.begin(sampler.Tick{Sequence: uint64(i), Shed: shed}, 0) {
				count++
				p.began = p.began.Add(-cost) // as if it had taken so long
				p.end()
			}
		}
		return count
	}
	var p pace
	if n := reads(&p, 100, paceBudget/8, 0); n != 100 {
		t.Errorf("cheap: read in %d of 100 ticks", n)
	}
	reads(&p, 2000, 3*paceBudget, 0)
	if n := reads(&p, 100, 3*paceBudget, 0); n < 20 || n > 35 {
		t.Errorf("three times too dear: read in %d of 100 ticks", n)
	}
	reads(&p, 2000, 100*paceBudget, 0)
	if n := reads(&p, 100, 100*paceBudget, 0); n != 10 {
		t.Errorf("far too dear: read in %d of 100 ticks", n)
	}
	reads(&p, 5000, paceBudget/8, 0)
	if n := reads(&p, 100, paceBudget/8, 0); n != 100 {
		t.Errorf("cheap again: read in %d of 100 ticks", n)
	}
	if n := reads(&p, 100, paceBudget/8, sampler.ShedSlowGauges); n != 10 {
		t.Errorf("shedding: read in %d of 100 ticks", n)
	}
}

// TestLeapsAreGrowth: a Go heap takes 4 MiB at a time from the system, and nothing for seconds in between.
func TestLeapsAreGrowth(t *testing.T) {
	const mib = 1 << 20
	first := func(limit float64, value func(seconds float64) float64) float64 {
		var g memoryGrowth
		g.limit.Store(int64(limit))
		for tick := range 600 {
			now := int64(tick+1) * 100_000
			bytes := value(float64(now) / 1e6)
			if bytes > limit {
				break
			}
			if tick%10 == 0 {
				g.cache.add(now, 0)
			}
			if g.candidate(now, bytes) && g.certain(bytes) {
				return float64(now) / 1e6
			}
		}
		return -1
	}
	leaps := func(seconds float64) float64 { return 16*mib + 4*mib*float64(int(seconds/2)) } // 2 MiB/s: at 80 MiB after 32 s
	if at := first(80*mib, leaps); at < 18 || at > 27 {
		t.Errorf("noticed after %.1f s, not some ten seconds before 32 s", at)
	}
	if at := first(170*mib, func(seconds float64) float64 { return 30*mib + 100*mib*float64(min(int(seconds/20), 1)) }); at != -1 {
		t.Errorf("a single step is no growth: noticed after %.1f s", at)
	}
}

// TestHeapThatLeaps: a runtime takes some MiB at once, with seconds between; that is growth all the same.
func TestHeapThatLeaps(t *testing.T) {
	const mib = 1 << 20
	var g memoryGrowth
	g.limit.Store(170 * mib)
	noticed := -1
	for tick := range 400 {
		now, usage := int64(tick+1)*100_000, 30*mib+4*mib*float64(tick/12) // 3.3 MiB/s: 42 s
		if g.cache.add(now, 5*mib); g.candidate(now, usage) && g.certain(usage) && noticed < 0 {
			noticed = tick
		}
	}
	if noticed < 250 || noticed > 400 {
		t.Errorf("noticed in tick %d; the last ten seconds begin about tick 320", noticed)
	}
}
