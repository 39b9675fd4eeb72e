package batch

import (
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// TestSamplingWaitsForNobody samples a tick while another thread holds the lock, as one that waits for a slow disk
// does.
func TestSamplingWaitsForNobody(t *testing.T) {
	store := openStore(t, t.TempDir())
	server := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_DNS_SERVER, "10.0.0.1:53", Node)
	counter, gauge, late := store.Series(server, 1), store.Series(server, 2), store.Series(server, 3)
	var histogram Histogram
	histogram.Observe(100)
	sample := func(tick int64) {
		store.Begin(tick)
		store.Delta(counter, uint64(10*(tick-firstTick)))
		store.Set(gauge, 7)
		store.SetAt(1, late, float64(tick-1-firstTick))
		store.AppendDistribution(server, 87, tick, &histogram)
	}
	sample(firstTick)
	store.Commit()
	store.mu.Lock()
	sampled := make(chan struct{})
	go func() {
		sample(firstTick + 1)
		close(sampled)
	}()
	select {
	case <-sampled:
	case <-time.After(2 * time.Minute):
		t.Error("sampling waits for the lock")
	}
	store.mu.Unlock()
	<-sampled
	store.Commit()
	got := map[point]float64{}
	decoded := seal(t, store, firstTick+2)
	points(t, decoded, got, map[point]bool{})
	want := map[point]float64{
		{"10.0.0.1:53", 1, firstTick + 1}: 10, {"10.0.0.1:53", 2, firstTick}: 7, {"10.0.0.1:53", 2, firstTick + 1}: 7,
		{"10.0.0.1:53", 3, firstTick - 1}: -1, {"10.0.0.1:53", 3, firstTick}: 0,
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for at, value := range want {
		if got[at] != value {
			t.Errorf("%v: got %v, want %v", at, got[at], value)
		}
	}
	if len(decoded.Distributions) != 1 || decoded.Distributions[0].TickCount != 2 {
		t.Errorf("distributions %v", decoded.Distributions)
	}
}
