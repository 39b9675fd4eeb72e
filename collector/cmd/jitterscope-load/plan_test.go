package main

import (
	"errors"
	"testing"
	"time"
)

func times(t *testing.T, p plan) []int64 {
	t.Helper()
	if err := errors.Join(p.check(), p.checkIDs(1, time.Second)); err != nil {
		t.Fatal(err)
	}
	var all []int64
	walk := schedule{plan: &p}
	for {
		at, ok := walk.next()
		if !ok {
			if len(all) > p.capacity() {
				t.Fatalf("%d queries, capacity %d", len(all), p.capacity())
			}
			return all
		}
		all = append(all, at)
	}
}

func TestScheduleIsEven(t *testing.T) {
	all := times(t, plan{durationNs: 2e9, qps: 1000})
	if len(all) != 2000 {
		t.Fatalf("got %d queries, want 2000", len(all))
	}
	for i, at := range all {
		if want := int64(i) * 1e6; at < want-1 || at > want+1 {
			t.Fatalf("query %d at %d ns, want %d", i, at, want)
		}
	}
}

func TestScheduleBursts(t *testing.T) {
	// 10 s at 100/s; 4 bursts (at 2, 4, 6 and 8 s) of 100 ms at 2,000/s, during which the base rate pauses.
	all := times(t, plan{durationNs: 10e9, qps: 100, burstQPS: 2000, burstNs: 100e6, everyNs: 2e9})
	inside := 0
	for _, at := range all {
		if phase := at % 2e9; at >= 2e9 && phase < 100e6 {
			inside++
		}
	}
	outside := len(all) - inside
	if inside < 796 || inside > 804 {
		t.Errorf("%d queries in bursts, want 800", inside)
	}
	if outside < 956 || outside > 964 {
		t.Errorf("%d queries outside bursts, want 960", outside)
	}
	for i := 1; i < len(all); i++ {
		if all[i] <= all[i-1] {
			t.Fatalf("query %d at %d, after %d", i, all[i], all[i-1])
		}
	}
}

func TestScheduleBeginsCalm(t *testing.T) {
	all := times(t, plan{durationNs: 4e9, qps: 1000, calmQPS: 100, calmNs: 1e9})
	calm := 0
	for _, at := range all {
		if at < 1e9 {
			calm++
		}
	}
	if calm != 100 || len(all) != 3100 {
		t.Errorf("%d queries in the first second and %d in all, want 100 and 3100", calm, len(all))
	}
}

func TestPlanRefuses(t *testing.T) {
	for name, p := range map[string]plan{
		"no time":         {qps: 1},
		"no rate":         {durationNs: 1e9},
		"endless burst":   {durationNs: 1e9, qps: 1, burstQPS: 5, burstNs: 2e9, everyNs: 1e9},
		"query ids reuse": {durationNs: 1e9, qps: 20_000},
		"calm at no rate": {durationNs: 1e9, qps: 1, calmNs: 1e8},
		"too much":        {durationNs: 1e15, qps: 1000},
	} {
		if errors.Join(p.check(), p.checkIDs(1, 5*time.Second)) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
