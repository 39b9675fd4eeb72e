package sampler

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
)

// TestTriggersAreHeardWhenAllIsRead: recording a trigger takes a lock, which would make the sources after it late.
func TestTriggersAreHeardWhenAllIsRead(t *testing.T) {
	var last *probe
	var heard int
	first := &probe{
		name: "a",
		start: func(registry *Registry) {
			registry.OnTrigger(func(batch.ResourceID, string, int64) {
				if heard++; last.samples.Load() == 0 {
					t.Error("heard before the last source was sampled")
				}
			})
		},
		sample: func(tick Tick, recorder *Recorder) { recorder.Trigger(batch.Node, "throttled", tick.StartUS) },
	}
	last = &probe{name: "b"}
	h := newHarness(t, t.TempDir(), first, last)
	if err := h.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.Ticker()()
	if heard != 1 {
		t.Errorf("heard %d triggers", heard)
	}
}

// TestLatenessHoldsStandstills: the sampling thread can also stop running between two reads.
func TestLatenessHoldsStandstills(t *testing.T) {
	stood := 30 * time.Millisecond
	standing := &probe{name: "a", sample: func(Tick, *Recorder) { time.Sleep(stood) }}
	var lateness []int64
	reading := &probe{name: "b", sample: func(tick Tick, recorder *Recorder) {
		for range 3 {
			recorder.NoticeStandstill()
		}
		lateness = append(lateness, recorder.LatenessUS()-tick.LatenessUS)
	}}
	h := newHarness(t, t.TempDir(), standing, reading)
	if err := h.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	sample := h.Ticker()
	sample()
	stood = 0
	for range 20 { // one of them is bound to run without interruption
		sample()
	}
	if lateness[0] < 30_000 || slices.Min(lateness[1:]) != 0 {
		t.Errorf("late by %v us", lateness)
	}
}

func TestNothingBeginsRightBeforeATick(t *testing.T) {
	const tick = 17_952_560_000 * int64(batch.StepUS)
	for at, want := range map[int64]int64{
		tick: 0, tick + 1: 0, tick + batch.StepUS - quietUS: 0,
		tick + batch.StepUS - quietUS + 1: quietUS - 1 + afterQuietUS, tick + batch.StepUS - 1: 1 + afterQuietUS,
	} {
		if got := pastTick(at).Microseconds(); got != want {
			t.Errorf("%d us into the tick: waits %d us, want %d", at-tick, got, want)
		}
	}
}
