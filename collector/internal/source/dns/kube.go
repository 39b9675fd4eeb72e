package dns

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("kube", func() sampler.Source { return &kube{} }) }

const (
	kubeFirst = 5 * time.Second
	kubeAgain = time.Minute // if there was no answer
	kubeEvery = 15 * time.Minute
	// The list of nodes takes kilobytes per node, and every node's collector requests it: so rarely that all together
	// request one every ten seconds, however many there are.
	kubeNodesEach = 10 * time.Second
	kubeNeeds     = "a service account that can list nodes and get, in kube-system, the ConfigMaps kube-dns and kube-dns-autoscaler and the Deployment kube-dns"
)

// kube records what the API server knows about the cluster and its DNS. It sends requests only if a DNS server runs on
// this node, and samples nothing on the grid.
type kube struct {
	registry *sampler.Registry
	shared   *dnsShared
	server   kubeapi.Server
	asking   sync.WaitGroup

	nodes    int
	cores    int
	nodesDue time.Time
}

func (k *kube) Name() string { return "kube" }

func (k *kube) Start(ctx context.Context, registry *sampler.Registry) error {
	k.registry, k.shared = registry, sharedDNS(registry)
	server, err := registry.APIServer()
	if err != nil {
		return err
	}
	k.server = server
	k.asking.Go(func() { k.loop(ctx) })
	return nil
}

func (k *kube) loop(ctx context.Context) {
	wait := kubeFirst
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = kubeFirst
		if len(*k.shared.servers.Load()) > 0 {
			wait = kubeAgain
			if k.ask(ctx) {
				wait = kubeEvery + rand.N(kubeEvery/4) // not all nodes at the same time
			}
		}
	}
}

// ask records what is available; a forbidden request does not prevent the others. It reports whether the server
// answers.
func (k *kube) ask(ctx context.Context) (answers bool) {
	var problems []error
	failed := func(err error) bool {
		if err != nil && ctx.Err() == nil {
			problems = append(problems, err)
		}
		return err != nil
	}
	version, err := k.server.Version(ctx)
	if !failed(err) {
		k.fact("kube.server_version", version)
	}
	answers = err == nil || errors.Is(err, kubeapi.ErrForbidden)
	if data, err := k.server.ConfigMap(ctx, "kube-dns-autoscaler"); !failed(err) {
		k.fact("kube.dns_autoscaler", kubeapi.Parsed(data, "linear", "ladder"))
	}
	if data, err := k.server.ConfigMap(ctx, "kube-dns"); !failed(err) {
		k.fact("kube.stub_domains", kubeapi.Parsed(data, "stubDomains", "upstreamNameservers"))
	}
	size := make(map[string]int)
	if replicas, ok, err := k.server.Replicas(ctx, "kube-dns"); !failed(err) && ok {
		size["kube_dns_replicas"] = replicas
	}
	if !failed(k.countNodes(ctx)) && k.nodes > 0 {
		size["nodes"], size["cores"] = k.nodes, k.cores
	}
	if text, err := json.Marshal(size); err == nil && len(size) > 0 {
		k.fact("kube.cluster_size", string(text))
	}
	if err := errors.Join(problems...); err != nil {
		k.registry.Degraded(problems[0].Error(), kubeNeeds)
	} else {
		k.registry.Degraded("", "")
	}
	return answers
}

func (k *kube) fact(name, value string) {
	if value != "" {
		k.registry.Fact(batch.Node, name, value)
	}
}

// countNodes requests the nodes if that is due.
func (k *kube) countNodes(ctx context.Context) error {
	if time.Now().Before(k.nodesDue) {
		return nil
	}
	nodes, milliCPU, err := k.server.Nodes(ctx)
	if err != nil {
		return err
	}
	k.nodes, k.cores = nodes, int((milliCPU+999)/1000)
	k.nodesDue = time.Now().Add(time.Duration(nodes) * kubeNodesEach)
	return nil
}

func (k *kube) Sample(sampler.Tick, *sampler.Recorder) {}

func (k *kube) Close() error {
	k.asking.Wait()
	return nil
}
