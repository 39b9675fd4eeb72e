package pods

import (
	"sync"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// namespaces holds where each container of the node belongs in the cluster, as the source names finds out.
type namespaces struct {
	mu         sync.Mutex
	containers map[string]placed // by the path of the cgroup
}

// placed is a container of a workload: KIND/NAME, empty if nothing controls its pod or that is not known.
type placed struct {
	resource                          batch.ResourceID
	path, namespace, owner, container string
	selectable                        *names.Selectable // nil: not known
}

func sharedNamespaces(registry *sampler.Registry) *namespaces {
	return registry.Shared("namespaces", func() any { return &namespaces{containers: map[string]placed{}} }).(*namespaces)
}

func (n *namespaces) put(path string, one placed) {
	if one.namespace == "" || names.Identify(path).ContainerID == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.containers[path] = one
}

func (n *namespaces) remove(path string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.containers, path)
}

// here returns the namespaces with a container on this node.
func (n *namespaces) here() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := make(map[string]bool)
	for _, one := range n.containers {
		found[one.namespace] = true
	}
	return found
}

// each visits the containers, none of which is released meanwhile.
func (n *namespaces) each(visit func(placed)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.containers {
		visit(one)
	}
}
