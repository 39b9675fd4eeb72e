package gctrace

import "testing"

func TestTickSplitsACycleOverTicks(t *testing.T) {
	tracker := Tracker{KnowsReasons: true}
	tracker.Tick(1_000_000)
	add := func(at int64, phase Phase, reason uint64) (Cycle, bool) {
		return tracker.Add(Moment{TimeUS: at, Phase: phase, Reason: reason})
	}
	add(1_050_000, CycleStart, 0)
	add(1_050_100, StopTheWorld, reasonSweepTermination)
	add(1_050_300, StartTheWorld, 0)
	add(1_060_000, StopTheWorld, 9) // ReadMemStats
	add(1_061_000, StartTheWorld, 0)
	check(t, &tracker, 1_100_000, 0, 50_000, 200)
	check(t, &tracker, 1_200_000, 0, 100_000, 0)
	add(1_299_900, StopTheWorld, reasonMarkTermination)
	add(1_299_950, MarkTermination, 0)
	check(t, &tracker, 1_300_000, 0, 100_000, 100)
	cycle, ended := add(1_300_400, StartTheWorld, 0)
	if !ended || cycle != (Cycle{1_050_000, 1_300_400, 700}) {
		t.Errorf("%+v, %v", cycle, ended)
	}
	check(t, &tracker, 1_400_000, 1, 400, 400)
	check(t, &tracker, 1_500_000, 0, 0, 0)
}

func TestMarkingThatGoesOnIsOneCycle(t *testing.T) {
	tracker := Tracker{KnowsReasons: true}
	ends := 0
	for _, m := range []Moment{
		{100, StartTheWorld, 0}, // attached in the middle of a cycle
		{200, CycleStart, 0}, {210, StopTheWorld, 2}, {220, StartTheWorld, 0},
		{300, StopTheWorld, 1}, {310, StartTheWorld, 0}, // more work was found
		{400, StopTheWorld, 1}, {410, MarkTermination, 0}, {420, StartTheWorld, 0},
		{500, StopTheWorld, 1}, {510, StartTheWorld, 0},
	} {
		if cycle, ended := tracker.Add(m); ended {
			ends++
			if cycle != (Cycle{200, 420, 40}) {
				t.Errorf("%+v", cycle)
			}
		}
	}
	if ends != 1 {
		t.Errorf("%d cycles", ends)
	}
}

func check(t *testing.T, tracker *Tracker, end int64, cycles int, active, pause int64) {
	t.Helper()
	if c, a, p := tracker.Tick(end); c != cycles || a != active || p != pause {
		t.Errorf("tick to %d: %d cycles, active %d, pause %d; want %d, %d, %d", end, c, a, p, cycles, active, pause)
	}
}
