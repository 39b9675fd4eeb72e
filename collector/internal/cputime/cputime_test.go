package cputime

import (
	"testing"
	"time"
)

func TestWaitingCostsNothing(t *testing.T) {
	waited := Of(func() { time.Sleep(50 * time.Millisecond) })
	worked := Of(func() {
		for began := now(); now()-began < 20*time.Millisecond; {
		}
	})
	if waited > worked/2 || worked < 20*time.Millisecond {
		t.Errorf("50 ms of sleep cost %v, 20 ms of work %v", waited, worked)
	}
}
