package sampler

import (
	"context"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
)

func TestBudgetShedsAndRecovers(t *testing.T) {
	b := newBudget(Budget{CPUShare: 0.1})
	now := time.Now()
	decide := func(share float64, want int) {
		t.Helper()
		change, changed := b.decide(share, now)
		if b.level() != want {
			t.Fatalf("at %.2f the level is %d, want %d", share, b.level(), want)
		}
		if changed && (change.From == change.To || change.Why == "") {
			t.Errorf("change %+v", change)
		}
	}
	decide(0.09, ShedNothing)
	decide(0.12, ShedSlowGauges)
	decide(0.12, ShedZoom)
	decide(0.12, ShedUnlimited)
	decide(0.12, ShedUnlimited)
	decide(0.01, ShedUnlimited) // too soon
	now = now.Add(2 * time.Minute)
	decide(0.08, ShedUnlimited) // too close to the budget: it would oscillate
	decide(0.05, ShedZoom)
	decide(0.01, ShedZoom)
	now = now.Add(2 * time.Minute)
	decide(0.01, ShedSlowGauges)
	if none := newBudget(Budget{}); true {
		if _, changed := none.update(now); changed {
			t.Error("no budget, yet it sheds")
		}
	}
}

func TestFactsAreSentOnceAndWhenTheyChange(t *testing.T) {
	source := &probe{name: "s"}
	var registry *Registry
	source.start = func(r *Registry) { registry = r }
	h := newHarness(t, t.TempDir(), source)
	if err := h.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	state := &loopState{}
	facts := func() map[string]string {
		h.rotate(state, time.Now().UnixMicro()/batch.StepUS)
		found := map[string]string{}
		for _, fact := range h.batches[len(h.batches)-1].Facts {
			found[fact.Name] = fact.Value
		}
		return found
	}
	registry.Fact(batch.Node, "a", "1")
	registry.Fact(batch.Node, "b", "x")
	if got := facts(); len(got) != 2 {
		t.Errorf("first: %v", got)
	}
	registry.Fact(batch.Node, "a", "1")
	registry.Fact(batch.Node, "b", "y")
	if got := facts(); len(got) != 1 || got["b"] != "y" {
		t.Errorf("changed: %v", got)
	}
	h.ResendFacts()
	if got := facts(); len(got) != 2 || got["b"] != "y" {
		t.Errorf("after a loss: %v", got)
	}
}

func TestSleepsToTheDeadline(t *testing.T) {
	deadline := nowUS()/batch.StepUS*batch.StepUS + batch.StepUS
	SleepUntil(deadline)
	if now := nowUS(); now < deadline {
		t.Errorf("woke up %d us early", deadline-now)
	}
	// What the deadline looks like after the clock was set back by an hour: waiting for it would be an hour without a
	// tick.
	now := nowUS()
	for until, want := range map[int64]int64{now - 1: 0, now: 0, now + 1: 1, now + batch.StepUS: batch.StepUS, now + time.Hour.Microseconds(): 0} {
		if left := leftUntil(until, now); left != want {
			t.Errorf("%d us ahead: sleeps %d us, want %d", until-now, left, want)
		}
	}
}
