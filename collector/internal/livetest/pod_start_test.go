package livetest

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// podPages serves the page from before some pods started until they did, then the one from after. Each requires its
// token.
func podPages(t *testing.T, program, token string, started *atomic.Bool) *httptest.Server {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || (token != "" && r.Header.Get("Authorization") != "Bearer "+token) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		when := "before"
		if started.Load() {
			when = "after"
		}
		text, err := os.ReadFile("../podmetrics/testdata/" + program + "-" + when + ".txt")
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(text)
	})
	server := httptest.NewUnstartedServer(handler)
	if token != "" {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// TestPodStart has a kubelet, over TLS, and a Cilium agent report four pods that started.
func TestPodStart(t *testing.T) {
	t.Parallel()
	for _, release := range []struct {
		kubelet, version, cilium string
		start                    uint32
		p50                      float64
	}{
		{"kubelet-1.36.1", "v1.36.1", "cilium-1.19.3", catalogue.PodStartSliUS, 3.5e6},
		{"kubelet-1.24.4-gke.300", "v1.24.4-gke.300", "cilium-1.12.3", catalogue.PodStartTotalUS, 3.5e6},
	} {
		t.Run(release.kubelet, func(t *testing.T) {
			var started atomic.Bool
			kubelet, cilium := podPages(t, release.kubelet, "t", &started), podPages(t, release.cilium, "", &started)
			directory := t.TempDir()
			certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: kubelet.Certificate().Raw})
			config := fmt.Sprintf("[sources.kubelet_metrics]\nurl = %q\ntoken_file = %q\nca_file = %q\nevery_s = 0.5\n[sources.cni_metrics]\nurl = %q\nevery_s = 0.5\n",
				kubelet.URL, filepath.Join(directory, "token"), filepath.Join(directory, "ca.crt"), cilium.URL)
			for name, text := range map[string][]byte{"token": []byte("t\n"), "ca.crt": certificate, "collector.toml": []byte(config)} {
				if err := os.WriteFile(filepath.Join(directory, name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			o := observe(t, "kubelet_metrics,cni_metrics,self", "-config", filepath.Join(directory, "collector.toml"), "-node-key", "pods")
			waitFor(t, "the kubelet's version", func() bool { return o.fact("pods", "node.kubelet") == release.version })
			time.Sleep(time.Second)
			if _, count := o.quantile("pods", catalogue.PodSandboxUS, began, 0.5); count != 0 {
				t.Errorf("%d pods of before the collector started", count)
			}
			started.Store(true)
			for metric, want := range map[uint32]int{
				release.start: 4, catalogue.PodSandboxUS: 4, catalogue.PodImagePullUS: 1, catalogue.PodContainerStartUS: 8,
				catalogue.PodCgroupUS: 4, catalogue.PodCniUS: 4, catalogue.PodBpfLoadUS: 3, catalogue.PodBpfCompileUS: 1,
			} {
				waitFor(t, fmt.Sprint("metric ", metric), func() bool {
					_, count := o.quantile("pods", metric, began, 0.5)
					return count == want
				})
			}
			if p50, _ := o.quantile("pods", release.start, began, 0.5); p50 < 0.7*release.p50 || p50 > 1.3*release.p50 {
				t.Errorf("the median start took %v us", p50)
			}
			time.Sleep(1200 * time.Millisecond)
			if _, count := o.quantile("pods", release.start, began, 0.5); count != 4 {
				t.Errorf("%d pods: counted again", count)
			}
		})
	}
}

// TestPodStartIsForbidden has a kubelet that does not know the collector's service account.
func TestPodStartIsForbidden(t *testing.T) {
	t.Parallel()
	var started atomic.Bool
	kubelet := podPages(t, "kubelet-1.30.5", "another", &started)
	config := filepath.Join(t.TempDir(), "collector.toml")
	token := filepath.Join(t.TempDir(), "token")
	text := fmt.Sprintf("[sources.kubelet_metrics]\nurl = %q\ntoken_file = %q\ninsecure_tls = true\nevery_s = 0.5\n", kubelet.URL, token)
	for path, content := range map[string]string{config: text, token: "t"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := observe(t, "kubelet_metrics,self", "-config", config)
	waitFor(t, "the state of the source", func() bool {
		for _, status := range o.agent.Engine.Status() {
			if status.Name == "kubelet_metrics" && status.State == ingestpb.SourceState_SOURCE_STATE_DEGRADED {
				return status.Needs != "" && status.Detail != ""
			}
		}
		return false
	})
}

// TestPodStartOnANewNode has a kubelet that has not started any pod before its first scrape.
func TestPodStartOnANewNode(t *testing.T) {
	t.Parallel()
	var started atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := []byte("# nothing yet\nprocess_start_time_seconds 1.7e9\n")
		if started.Load() {
			var err error
			if text, err = os.ReadFile("../podmetrics/testdata/kubelet-1.30.5-after.txt"); err != nil {
				t.Error(err)
			}
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "collector.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "[sources.kubelet_metrics]\nurl = %q\nevery_s = 0.5\n", server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	o := observe(t, "kubelet_metrics,self", "-config", config, "-node-key", "new")
	time.Sleep(1500 * time.Millisecond)
	started.Store(true)
	waitFor(t, "all its pods", func() bool {
		_, count := o.quantile("new", catalogue.PodStartSliUS, began, 0.5)
		return count == 34
	})
}
