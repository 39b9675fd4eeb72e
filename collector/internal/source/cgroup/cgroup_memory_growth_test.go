package cgroup

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

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
				if g.cache.Add(now, cache); g.certain(usage) {
					noticed = true
				}
			} else if tick%sampler.SlowEvery == 0 {
				g.cache.Add(now, cache)
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
				g.cache.Add(now, 0)
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

func TestHeapThatLeaps(t *testing.T) {
	const mib = 1 << 20
	var g memoryGrowth
	g.limit.Store(170 * mib)
	noticed := -1
	for tick := range 400 {
		now, usage := int64(tick+1)*100_000, 30*mib+4*mib*float64(tick/12) // 3.3 MiB/s: 42 s
		if g.cache.Add(now, 5*mib); g.candidate(now, usage) && g.certain(usage) && noticed < 0 {
			noticed = tick
		}
	}
	if noticed < 250 || noticed > 400 {
		t.Errorf("noticed in tick %d; the last ten seconds begin about tick 320", noticed)
	}
}
