package node

import (
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// As of a node that runs out of memory.
const pressed = `{"metadata":{},"items":[{"metadata":{"name":"pool-a-1"},
 "spec":{"taints":[{"key":"node.kubernetes.io/memory-pressure","effect":"NoSchedule","timeAdded":"2026-11-26T03:15:00Z"},{"key":"team","value":"data","effect":"NoExecute"}]},
 "status":{"conditions":[
  {"type":"MemoryPressure","status":"True","lastHeartbeatTime":"2026-11-26T03:15:00Z","reason":"KubeletHasInsufficientMemory","message":"kubelet has insufficient memory available"},
  {"type":"DiskPressure","status":"False","lastHeartbeatTime":"2026-11-26T03:15:00Z","reason":"KubeletHasNoDiskPressure"},
  {"type":"Ready","status":"True","lastHeartbeatTime":"2026-11-26T03:15:00Z","reason":"KubeletReady","message":"kubelet is posting ready status"}]}}]}`

func TestNodeState(t *testing.T) {
	t.Setenv("JITTERSCOPE_NODE_NAME", "pool-a-1")
	n := &nodeState{}
	r := sourcetest.Start(t, sourcetest.Setup{
		Options: sourcetest.APIServer(t, map[string]string{"/api/v1/nodes": pressed}), Sources: []sampler.Source{n},
	})
	n.ask(t.Context()) // the loop does so after seconds
	for name, want := range map[string]string{
		catalogue.FactNodeConditions: `{"MemoryPressure":"True","Ready":"True"}`,
		catalogue.FactNodeTaints:     `["node.kubernetes.io/memory-pressure:NoSchedule","team=data:NoExecute"]`,
	} {
		if got := r.Fact(sourcetest.Node, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := r.Status("node_state"); !strings.HasPrefix(got, "ACTIVE") {
		t.Error(got)
	}
}

func TestNodeStateThatIsForbidden(t *testing.T) {
	n := &nodeState{}
	r := sourcetest.Start(t, sourcetest.Setup{Options: sourcetest.APIServer(t, nil), Sources: []sampler.Source{n}})
	n.ask(t.Context())
	if got := r.Status("node_state"); !strings.HasPrefix(got, "DEGRADED:") || !strings.Contains(got, "forbidden") {
		t.Error(got)
	}
	if got := r.Fact(sourcetest.Node, catalogue.FactNodeTaints); got != "" {
		t.Errorf("taints %s", got)
	}
	off := sourcetest.Start(t, sourcetest.Setup{Options: `api_server = "off"`, Sources: []sampler.Source{&nodeState{}}})
	if got := off.Status("node_state"); got != "OFF: api_server is off in [sources.node_state]" {
		t.Error(got)
	}
}
