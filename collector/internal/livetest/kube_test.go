package livetest

import (
	"path/filepath"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestWhatTheAPIServerKnows queries a server over TLS that forbids one of the requests.
func TestWhatTheAPIServerKnows(t *testing.T) {
	t.Parallel()
	config := sourcetest.Tree(t, map[string]string{
		"collector.toml": "[sources.kube]\n" + sourcetest.APIServer(t, sourcetest.Cluster),
	})
	address := freeAddress(t, "127.0.0.1")
	startServer(t, nil, buildDNSServer(t), address)
	o := observe(t, "dns_capture,kube", "-config", filepath.Join(config, "collector.toml"))
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
