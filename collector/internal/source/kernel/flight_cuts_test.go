package kernel

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
)

const flightStart = int64(1_800_000_000_000_000)

// flights simulates triggers and counts captures.
type flights struct {
	cuts  flightCuts
	nowUS int64
	made  []flightDue
}

// every triggers at an interval of seconds for total seconds.
func (f *flights) every(seconds, total int, resource batch.ResourceID, reason string) (captures int) {
	before := len(f.made)
	for range total {
		if (f.nowUS-flightStart)/1_000_000%int64(seconds) == 0 {
			f.cuts.add(flightTrigger{resource, reason, f.nowUS})
		}
		f.nowUS += 1_000_000
		for {
			due, ok := f.cuts.due(f.nowUS)
			if !ok {
				break
			}
			f.made = append(f.made, due)
		}
	}
	return len(f.made) - before
}

func TestCapturesOfOneResourceGetRarer(t *testing.T) {
	f := &flights{cuts: newFlightCuts(), nowUS: flightStart}
	if n := f.every(1, 3600, 7, "throttled"); n < 7 || n > 10 { // after 0, 1, 3, 7, 15, 25, 35, 45, 55 minutes
		t.Errorf("%d captures in an hour of throttling", n)
	}
	f.nowUS += 20 * 60 * 1_000_000
	if n := f.every(1, 10, 7, "throttled"); n != 1 {
		t.Errorf("%d captures when it comes again", n)
	}
	if n := f.every(1, 10, 7, "oom_kill"); n != 1 {
		t.Errorf("%d captures for another reason", n)
	}
}

func TestCapturesOfManyCgroups(t *testing.T) {
	f := &flights{cuts: newFlightCuts(), nowUS: flightStart}
	total := 0
	for resource := range batch.ResourceID(100) {
		total += f.every(1, 1, 10+resource, "throttled")
	}
	if total += f.every(1, 5, batch.Node, "late_tick"); total < 4 || total > 6 {
		t.Errorf("%d captures of 100 cgroups and the node in 105 s", total)
	}
	if last := f.made[len(f.made)-1]; last.resource != batch.Node {
		t.Errorf("the node comes after cgroups: %+v", last)
	}
}

func TestCaptureReachesBackToTheStall(t *testing.T) {
	f := &flights{cuts: newFlightCuts(), nowUS: flightStart}
	f.cuts.stalled(flightStart-30_000_000, flightStart)
	f.cuts.stalled(flightStart-29_900_000, flightStart+50_000) // the same one, seen by the other thread
	f.every(10, 4, batch.Node, "late_tick")
	f.nowUS += 100_000_000
	f.every(1, 1, batch.Node, "oom_kill")
	f.every(1, 4, batch.Node, "late_tick") // the stall is long past
	if len(f.made) != 3 || f.made[0].fromUS != flightStart-30_000_000-flightLeadUS {
		t.Fatalf("%+v", f.made)
	}
	for _, made := range f.made[1:] {
		if made.fromUS != made.atUS-flightBeforeUS {
			t.Errorf("%+v reaches back %d us", made, made.atUS-made.fromUS)
		}
	}
}

func TestCaptureComesAfterTheAftermath(t *testing.T) {
	cuts := newFlightCuts()
	cuts.add(flightTrigger{batch.Node, "late_tick", flightStart})
	if _, ok := cuts.due(flightStart + flightAfterUS - 1); ok {
		t.Error("too early")
	}
	if _, ok := cuts.due(flightStart + flightAfterUS); !ok {
		t.Error("not made")
	}
	cuts.add(flightTrigger{batch.Node, "oom_kill", flightStart})
	if _, ok := cuts.due(flightStart - 100_000_000); !ok {
		t.Error("waits for as long as the clock was set back")
	}
}

func TestOneMomentIsCapturedOnce(t *testing.T) {
	f := &flights{cuts: newFlightCuts(), nowUS: flightStart}
	for _, reason := range []string{"slow_query", "slower_query"} {
		f.cuts.add(flightTrigger{7, reason, f.nowUS})
	}
	f.cuts.add(flightTrigger{8, "slower_query", f.nowUS})
	if n := f.every(10, 10, 9, "throttled"); n != 2 {
		t.Errorf("%d captures of two moments", n)
	}
}
