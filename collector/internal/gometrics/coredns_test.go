package gometrics

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func parsed(t *testing.T, text string) CoreDNS {
	t.Helper()
	sample, err := Parse(strings.NewReader(text), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return sample.CoreDNS
}

func release(t *testing.T, version string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "coredns-"+version+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// same compares counters; NaN equals NaN.
func same(a, b CoreDNS) bool {
	near := func(x, y float64) bool {
		return (math.IsNaN(x) && math.IsNaN(y)) || math.Abs(x-y) < 1e-9
	}
	return a.Present == b.Present && near(a.CacheHits, b.CacheHits) && near(a.CacheMisses, b.CacheMisses) &&
		near(a.ForwardRequests, b.ForwardRequests) && near(a.ForwardSeconds, b.ForwardSeconds) && near(a.ForwardErrors, b.ForwardErrors) &&
		near(a.ConnHits, b.ConnHits) && near(a.ConnMisses, b.ConnMisses) && near(a.Rejects, b.Rejects) && near(a.Panics, b.Panics)
}

// TestReleases reads real pages of releases whose names differ.
func TestReleases(t *testing.T) {
	nan := math.NaN()
	for version, want := range map[string]CoreDNS{
		"1.6.9":  {true, 28, 12, 12, 0.0034573549999999996, 1, nan, nan, 0, 0},
		"1.10.1": {true, 28, 12, 12, 0.001728919 + 0.002120523 + 0.000314009, 1, 11, 1, 0, 0},
		"1.12.0": {true, 28, 12, 12, 0.01061995 + 0.01921596 + 0.000913813, 1, 11, 1, 0, 0},
	} {
		if got := parsed(t, release(t, version)); !same(got, want) || !got.HasForward() {
			t.Errorf("%s: %+v instead of %+v", version, got, want)
		}
	}
}

// TestNothingCountedYet leaves out families that have not counted anything; they are 0 if the plugin is present.
func TestNothingCountedYet(t *testing.T) {
	const enabled = `coredns_plugin_enabled{name="cache",server="dns://:53",view="",zone="."} 1
coredns_panics_total 0
coredns_forward_max_concurrent_rejects_total 0
`
	nan := math.NaN()
	if got := parsed(t, enabled); !same(got, CoreDNS{true, 0, 0, nan, nan, nan, nan, nan, 0, 0}) || got.HasForward() {
		t.Errorf("%+v", got)
	}
	forward := enabled + `coredns_plugin_enabled{name="forward",server="dns://:53",view="",zone="."} 1` + "\n"
	if got := parsed(t, forward); !same(got, CoreDNS{true, 0, 0, 0, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("%+v", got)
	}
	// Requests without connections: a release that does not count these.
	old := forward + `coredns_forward_requests_total{to="10.0.0.1:53"} 7` + "\n"
	if got := parsed(t, old); got.ForwardRequests != 7 || !math.IsNaN(got.ConnHits) || !math.IsNaN(got.ConnMisses) {
		t.Errorf("%+v", got)
	}
	// Deprecated: misses will be removed, hits and requests stay.
	without := enabled + "coredns_cache_requests_total{server=\"x\"} 10\ncoredns_cache_hits_total{type=\"denial\"} 3\ncoredns_cache_hits_total{type=\"success\"} 4\n"
	if got := parsed(t, without); got.CacheMisses != 3 || got.CacheHits != 7 {
		t.Errorf("%+v", got)
	}
	if got := parsed(t, "go_goroutines 7\nup 1\n"); got.Present {
		t.Error("another program is taken for a CoreDNS")
	}
}

func TestLabels(t *testing.T) {
	got := parsed(t, `coredns_forward_responses_total{rcode="SERVFAIL",to="a}b"} 2
coredns_forward_responses_total{to="x\",rcode=\"SERVFAIL\"",rcode="NOERROR"} 4
coredns_forward_responses_total{to="unclosed
coredns_forward_requests_total{to="a b",} 8 1795256838000
coredns_proxy_request_duration_seconds_count{proxy_name="forward",rcode="SERVFAIL",to="x"} 16
coredns_proxy_request_duration_seconds_bucket{proxy_name="forward",rcode="SERVFAIL",to="x",le="1"} 32
coredns_cache_hits_total NaNsense
`)
	if got.ForwardErrors != 18 || got.ForwardRequests != 24 || !math.IsNaN(got.CacheHits) {
		t.Errorf("%+v", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, version := range []string{"1.6.9", "1.12.0"} {
		text, err := os.ReadFile(filepath.Join("testdata", "coredns-"+version+".txt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		sample, err := Parse(strings.NewReader(text), time.Now())
		if err == nil && sample.CoreDNS.HasForward() && !sample.CoreDNS.Present {
			t.Error("counters of a page that is not CoreDNS's")
		}
	})
}
