package gctrace

import "testing"

func TestThreadsThatMark(t *testing.T) {
	var tracker ThreadTracker
	idle := []ThreadTimes{{CPUUS: 2000, Slices: 100}, {CPUUS: 1000, Slices: 90}}
	marking := []ThreadTimes{{CPUUS: 50_000, Slices: 12}, {CPUUS: 45_000, Slices: 10}}
	serving := []ThreadTimes{{CPUUS: 50_000, Slices: 900}, {CPUUS: 45_000, Slices: 800}}
	var cycles []Cycle
	now := int64(0)
	tick := func(threads []ThreadTimes, times int) {
		for range times {
			if _, cycle, ended := tracker.Tick(now, now+100_000, threads); ended {
				cycles = append(cycles, cycle)
			}
			now += 100_000
		}
	}
	tick(idle, 40)
	tick(marking, 2)
	tick(idle, 2) // throttled
	tick(marking, 1)
	tick(idle, 20)
	tick(serving, 5) // many short runs: requests
	tick(idle, 20)
	tick(marking, 1)
	tick(idle, 10)
	want := []Cycle{{StartUS: 4_000_000, EndUS: 4_500_000}, {StartUS: 9_000_000, EndUS: 9_100_000}}
	if len(cycles) != 2 || cycles[0] != want[0] || cycles[1] != want[1] {
		t.Errorf("%+v instead of %+v", cycles, want)
	}
}

func TestAlwaysBusyIsNotACollection(t *testing.T) {
	var tracker ThreadTracker
	busy := []ThreadTimes{{CPUUS: 50_000, Slices: 12}, {CPUUS: 45_000, Slices: 10}}
	for i := range int64(600) {
		if marking, _, ended := tracker.Tick(i*100_000, (i+1)*100_000, busy); marking || ended {
			t.Fatalf("suspected in tick %d", i)
		}
	}
}
