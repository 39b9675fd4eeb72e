package requests

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

func TestOfManyRequestsAPartIsTimed(t *testing.T) {
	for _, c := range []struct {
		perSecond float64
		was, want uint32
	}{
		{0, 0, 0}, {1000, 0, 0}, {1001, 0, 1}, {2000, 0, 1}, {5000, 0, 3}, {100_000, 0, 7}, {10_000_000, 0, 7},
		{0, 3, 0}, {1900, 2, 2}, {1400, 2, 1}, {5000, 7, 3}, // less than before: not at once at the limit
	} {
		if got := shiftFor(c.perSecond, c.was); got != c.want {
			t.Errorf("%v requests/s after 2^%d: 2^%d, want 2^%d", c.perSecond, c.was, got, c.want)
		}
	}
}

func TestAReportedRequestStandsForThoseThatArePassed(t *testing.T) {
	w := newWorld(t)
	for _, latency := range []int64{10_000, 30_000} { // in time, and slow
		tick := w.come(0)
		counts := &w.tracker.programs.counts[w.server.number]
		counts.Came[tick%ticks] += 7
		counts.Passed[tick%ticks] += 7
		w.finish(tick, 1_000, 2_000, 1_000+latency, answered)
		w.pending[len(w.pending)-1].Shift = 3
	}
	w.sample(0, 0)
	for metric, want := range map[uint32]float64{
		catalogue.Requests: 16, catalogue.Responses: 16, catalogue.ResponsesSlow: 1, catalogue.RequestsInflight: 0,
		catalogue.RequestLatencyUS: 9,
	} {
		w.expect(0, metric, want)
	}
}
