package gometrics

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

// TestSourcesShareReadings counts how often the page of this process is scraped.
func TestSourcesShareReadings(t *testing.T) {
	var readings atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path != "/metrics" {
			t.Errorf("%s was asked for", request.URL.Path)
		}
		readings.Add(1)
		_, _ = io.WriteString(w, "go_gc_duration_seconds_count 7\ncoredns_panics_total 3\n")
	}))
	defer server.Close()
	pages := &Pages{proc: "/proc", pages: make(map[*procwatch.Process]*sharedPage)}
	process := &procwatch.Process{PID: os.Getpid()}
	ctx := context.Background()
	read := func() int32 {
		t.Helper()
		before := readings.Load()
		sample, _, err := pages.Read(ctx, process)
		if err != nil || sample.Cycles != 7 || sample.CoreDNS.Panics != 3 {
			t.Errorf("%+v, %v", sample, err)
		}
		return readings.Load() - before
	}
	if n := read(); n > 2 { // finding the page takes a scrape too
		t.Errorf("%d readings for the first", n)
	}
	if n := read(); n != 0 {
		t.Errorf("%d readings for the second source", n)
	}
	time.Sleep(sharedWithin)
	if n := read(); n != 1 {
		t.Errorf("%d readings later", n)
	}
	server.Close()
	time.Sleep(sharedWithin)
	if _, _, err := pages.Read(ctx, process); err == nil {
		t.Error("a page that is gone was read")
	}
	pages.change(nil, []*procwatch.Process{process})
	if len(pages.pages) != 0 {
		t.Error("the page of an ended process is kept")
	}
}

func TestReadingsFallTogether(t *testing.T) {
	now := time.Unix(1_800_000_007, 123)
	fast, slow := NextReading(now, ReadUsual), NextReading(now, ReadSeldom)
	for fast.Before(slow) {
		fast = NextReading(fast, ReadUsual)
	}
	if !fast.Equal(slow) {
		t.Errorf("%v and %v", fast, slow)
	}
}
