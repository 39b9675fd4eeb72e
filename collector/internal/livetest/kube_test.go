package livetest

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// TestWhatTheAPIServerKnows asks a server over TLS that forbids one of the things asked for.
func TestWhatTheAPIServerKnows(t *testing.T) {
	answers := map[string]string{
		"/version":      `{"gitVersion":"v1.30.5-gke.1014001"}`,
		"/api/v1/nodes": `{"metadata":{},"items":[{"status":{"allocatable":{"cpu":"15890m"}}},{"status":{"allocatable":{"cpu":"15890m"}}}]}`,
		"/api/v1/namespaces/kube-system/configmaps/kube-dns-autoscaler": `{"data":{"linear":"{\"coresPerReplica\":256,\"nodesPerReplica\":16}"}}`,
		"/apis/apps/v1/namespaces/kube-system/deployments/kube-dns":     `{"spec":{"replicas":2}}`,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok || r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	directory := t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := fmt.Sprintf("[sources.kube]\napi_server = %q\ntoken_file = %q\nca_file = %q\n", server.URL,
		filepath.Join(directory, "token"), filepath.Join(directory, "ca.crt"))
	for name, text := range map[string][]byte{"token": []byte("t"), "ca.crt": certificate, "collector.toml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := freeAddress(t, "127.0.0.1")
	startServer(t, nil, buildDNSServer(t), address)
	o := observe(t, "dns_capture,kube", "-config", filepath.Join(directory, "collector.toml"))
	o.needs("kube")
	waitFor(t, "the server is known", func() bool { return o.hasResource(address) })
	node := o.parents(address)
	key := node[len(node)-1]
	for name, want := range map[string]string{
		"kube.server_version": "v1.30.5-gke.1014001", "kube.cluster_size": `{"cores":32,"kube_dns_replicas":2,"nodes":2}`,
		"kube.dns_autoscaler": `{"linear":{"coresPerReplica":256,"nodesPerReplica":16}}`,
	} {
		waitFor(t, name, func() bool { return o.fact(key, name) == want }, func() string { return o.fact(key, name) })
	}
	if got := o.fact(key, "kube.stub_domains"); got != "" {
		t.Errorf("stub domains %s, which are forbidden", got)
	}
	for _, status := range o.agent.Engine.Status() {
		if status.Name == "kube" && (status.State != ingestpb.SourceState_SOURCE_STATE_DEGRADED || status.Needs == "") {
			t.Errorf("state %v", status)
		}
	}
}
