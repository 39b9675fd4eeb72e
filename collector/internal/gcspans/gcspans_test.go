package gcspans

import "testing"

type tick struct {
	cycles int
	active int64
}

func ticks(t *Timeline, ends ...int64) (all []tick) {
	for _, end := range ends {
		cycles, active := t.Tick(end, 100)
		all = append(all, tick{cycles, active})
	}
	return all
}

func want(t *testing.T, got []tick, want ...tick) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("ticks %v, want %v", got, want)
			return
		}
	}
}

func TestTimeline(t *testing.T) {
	var line Timeline
	line.Begin(1010)
	line.End(1030)
	line.Begin(1090)
	want(t, ticks(&line, 1100, 1200), tick{1, 30}, tick{0, 100})
	line.End(1250)
	line.Begin(1305) // already seen, but in the next tick
	line.End(1306)
	want(t, ticks(&line, 1300, 1400, 1500), tick{1, 50}, tick{1, 1}, tick{0, 0})
}

func TestTimelineOfWhatHasNoPlace(t *testing.T) {
	var line Timeline
	line.Loose(3, 40)
	want(t, ticks(&line, 1100, 1200), tick{3, 40}, tick{0, 0})
	line.Loose(1, 400) // no more than the tick holds
	want(t, ticks(&line, 1300), tick{1, 100})
}

func TestTimelineOfTooMany(t *testing.T) {
	var line Timeline
	for i := range int64(most) {
		line.Begin(1000 + i/4)
		line.End(1000 + i/4)
	}
	want(t, ticks(&line, 1100), tick{most, 0})
	if allocations := testing.AllocsPerRun(10, func() { line.Begin(1); line.End(2); line.Tick(3, 100) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestTimelineBeginsInTheMiddle(t *testing.T) {
	var line Timeline
	line.End(1010) // of a cycle that had begun before
	line.Begin(1020)
	line.Begin(1030) // its end was lost
	line.End(1040)
	want(t, ticks(&line, 1100), tick{1, 10})
}

func TestTimelineOfSteps(t *testing.T) {
	var line Timeline
	for at := int64(1000); at < 1090; at++ { // more moments than are placed
		line.Begin(at)
		line.Brief(at + 1)
	}
	line.Begin(1098)
	want(t, ticks(&line, 1100, 1200), tick{0, 92}, tick{0, 100})
	line.Brief(1205)
	line.Begin(1210)
	line.End(1220)
	want(t, ticks(&line, 1300, 1400), tick{1, 15}, tick{0, 0})
}
