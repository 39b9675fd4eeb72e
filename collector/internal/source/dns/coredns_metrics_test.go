package dns

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestCoreDNSMetrics finds the page that this process serves and records the increase of its counters.
func TestCoreDNSMetrics(t *testing.T) {
	var hits atomic.Int32
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, fmt.Sprintf("go_gc_duration_seconds_count 7\ncoredns_plugin_enabled{name=\"cache\"} 1\ncoredns_cache_hits_total{type=\"success\"} %d\n"+
			"coredns_cache_hits_total{type=\"denial\"} 3\ncoredns_panics_total 0\n", 100+hits.Add(1)))
	}))
	defer page.Close()
	// Too old for its counters to count from the start.
	server := &oneServer{process: procwatch.Process{PID: os.Getpid(), DNS: "coredns", StartTicks: 1}}
	c := &coreDNSMetrics{}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: "/proc", Sources: []sampler.Source{server, c}})
	// Each scrape is a hit; what was counted before the first one is history.
	r.Eventually("hits", func() bool { return total(r.Values(serverKey, catalogue.CorednsCacheHits)) > 0 })
	if got := total(r.Values(serverKey, catalogue.CorednsCacheHits)); got > float64(hits.Load()) {
		t.Errorf("%v hits in %d readings", got, hits.Load())
	}
	if got := r.Values(serverKey, catalogue.CorednsForwardRequests); len(got) > 0 {
		t.Errorf("a server that does not forward: %v", got)
	}
	if got := r.Values(serverKey, catalogue.CorednsPanics); len(got) == 0 || total(got) != 0 {
		t.Errorf("panics %v", got)
	}
}
