package sampler

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	reads := func(p *Pace, ticks int, cost time.Duration, shed int) (count int) {
		for i := range ticks {
			if p.Begin(Tick{Sequence: uint64(i), Shed: shed}, 0) {
				count++
				p.began = p.began.Add(-cost) // as if it had taken that long
				p.End()
			}
		}
		return count
	}
	var p Pace
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
	if n := reads(&p, 100, paceBudget/8, ShedSlowGauges); n != 10 {
		t.Errorf("shedding: read in %d of 100 ticks", n)
	}
}
