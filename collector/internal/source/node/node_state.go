package node

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("node_state", func() sampler.Source { return &nodeState{} }) }

const (
	nodeStateFirst = 2 * time.Second
	// One node from the server's cache; a thousand nodes together request 16 a second.
	nodeStateEvery = time.Minute
	nodeStateNeeds = "a service account that can list nodes"
)

// nodeState records what the cluster says about this node: its conditions and taints. It samples nothing.
type nodeState struct {
	registry *sampler.Registry
	server   kubeapi.Server
	node     string
	asking   sync.WaitGroup
}

func (n *nodeState) Name() string { return "node_state" }

func (n *nodeState) Start(ctx context.Context, registry *sampler.Registry) error {
	server, err := registry.APIServer()
	if err != nil {
		return err
	}
	hostname, _ := os.Hostname()
	n.registry, n.server = registry, server
	n.node = cmp.Or(os.Getenv("JITTERSCOPE_NODE_NAME"), strings.ToLower(hostname))
	n.asking.Go(func() { n.loop(ctx) })
	return nil
}

func (n *nodeState) loop(ctx context.Context) {
	for wait := nodeStateFirst; ; wait = nodeStateEvery + rand.N(nodeStateEvery/4) { // not all nodes at the same time
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			n.ask(ctx)
		}
	}
}

func (n *nodeState) ask(ctx context.Context) {
	state, err := n.server.NodeState(ctx, n.node)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		n.registry.Degraded(err.Error(), nodeStateNeeds)
		return
	}
	n.registry.Degraded("", "")
	for name, value := range map[string]any{catalogue.FactNodeConditions: state.Conditions, catalogue.FactNodeTaints: state.Taints} {
		if text, err := json.Marshal(value); err == nil {
			n.registry.Fact(batch.Node, name, string(text))
		}
	}
}

func (n *nodeState) Sample(sampler.Tick, *sampler.Recorder) {}

func (n *nodeState) Close() error {
	n.asking.Wait()
	return nil
}
