package dns

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestKube queries an API server that forbids one of the requests.
func TestKube(t *testing.T) {
	k := &kube{}
	r := sourcetest.Start(t, sourcetest.Setup{Options: sourcetest.APIServer(t, sourcetest.Cluster), Sources: []sampler.Source{k}})
	k.ask(t.Context()) // the loop does so some seconds after there is a DNS server
	for name, want := range map[string]string{
		"kube.server_version": "v1.30.5-gke.1014001", "kube.dns_autoscaler": `{"linear":{"coresPerReplica":256,"nodesPerReplica":16}}`,
		"kube.cluster_size": `{"cores":32,"kube_dns_replicas":2,"nodes":2}`, "kube.stub_domains": "",
	} {
		if got := r.Fact(sourcetest.Node, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := r.Status("kube"); len(got) < 9 || got[:9] != "DEGRADED:" {
		t.Errorf("one thing is forbidden, and it is %q", got)
	}
	off := sourcetest.Start(t, sourcetest.Setup{Options: `api_server = "off"`, Sources: []sampler.Source{&kube{}}})
	if got := off.Status("kube"); got != "OFF: api_server is off in [sources.kube]" {
		t.Error(got)
	}
}
