package pods

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// pageThatChanges serves one page at first and another one from the second scrape on.
func pageThatChanges(t *testing.T, before, after string) string {
	t.Helper()
	var texts [2][]byte
	for i, name := range []string{before, after} {
		text, err := os.ReadFile("../../podmetrics/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = text
	}
	var reading atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(texts[min(int(reading.Add(1))-1, 1)])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestKubeletMetrics has four pods start between two scrapes.
func TestKubeletMetrics(t *testing.T) {
	url := pageThatChanges(t, "kubelet-1.30.5-before.txt", "kubelet-1.30.5-after.txt")
	r := sourcetest.Start(t, sourcetest.Setup{
		Options: fmt.Sprintf("url = %q\nevery_s = 0.5\n", url), Sources: []sampler.Source{&kubeletMetrics{}},
	})
	r.Eventually("four starts", func() bool { return r.Observed(sourcetest.Node, catalogue.PodStartTotalUS) == 4 })
	if got := r.Observed(sourcetest.Node, catalogue.PodSandboxUS); got != 4 {
		t.Errorf("%d sandboxes", got)
	}
	if got := r.Fact(sourcetest.Node, catalogue.FactNodeKubelet); !strings.HasPrefix(got, "v1.30.5") {
		t.Errorf("kubelet %q", got)
	}
	if got := r.Status("kubelet_metrics"); got != "ACTIVE" {
		t.Error(got)
	}
}

func TestKubeletMetricsThatAreNotRead(t *testing.T) {
	for options, want := range map[string]string{
		`url = "off"`:   "OFF: url is off in [sources.kubelet_metrics]",
		`every_s = 0.1`: "UNAVAILABLE: every_s is 0.1; it must lie between 0.5 and 3600",
	} {
		r := sourcetest.Start(t, sourcetest.Setup{Options: options, Sources: []sampler.Source{&kubeletMetrics{}}})
		if got := r.Status("kubelet_metrics"); got != want {
			t.Errorf("%s: %q", options, got)
		}
	}
}
