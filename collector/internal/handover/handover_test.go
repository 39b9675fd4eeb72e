package handover

import "testing"

func TestRingKeepsOrderAndCountsWhatIsLost(t *testing.T) {
	var r Ring[int]
	for i := range room + 3 {
		r.Put(i)
	}
	if r.Lost() != 3 {
		t.Errorf("%d lost", r.Lost())
	}
	for i := range 10 {
		if got, ok := r.Take(); !ok || got != i {
			t.Fatalf("%d, %v; want %d", got, ok, i)
		}
	}
	r.Put(1000)
	last, taken := 0, 0
	for {
		value, ok := r.Take()
		if !ok {
			break
		}
		last, taken = value, taken+1
	}
	if last != 1000 || taken != room-10+1 {
		t.Errorf("%d taken, the last is %d", taken, last)
	}
	if allocations := testing.AllocsPerRun(10, func() { r.Put(1); r.Take() }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
