package kernel

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

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
