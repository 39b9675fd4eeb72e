package pods

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/clusterips"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("services", func() sampler.Source { return &services{lists: lists{looks: servicesLooks}} })
}

const (
	// Containers that start are told at once which of the known Services select their pods.
	servicesLooks = 5 * time.Second
	servicesNeed  = "a service account that can list services"
	// A pod is behind one or two; each takes some 100 bytes of a fact.
	mostServices = 32
)

// services records for each container which Services select its pod, and tells others the addresses of all. It sends
// requests only if the node has containers of a namespace, and samples nothing.
type services struct {
	lists
	directory *clusterips.Directory

	// Used by the loop alone: of the namespaces that were here; nil: not known.
	known map[string][]*kubeapi.Service
}

// selectedBy is a Service with the node's container behind it: the pod's port by PORT/PROTOCOL.
type selectedBy struct {
	Name      string            `json:"name"`
	Addresses []netip.Addr      `json:"addresses"`
	Ports     map[string]uint16 `json:"ports"`
}

func (s *services) Name() string { return "services" }

func (s *services) Start(ctx context.Context, registry *sampler.Registry) error {
	s.directory = clusterips.Shared(registry)
	return s.begin(ctx, registry, s.ask, s.tell)
}

// ask reads the list and returns how many Services there are. Of those in other namespaces only the addresses are kept.
func (s *services) ask(ctx context.Context, here map[string]bool, _ time.Time) (items int) {
	addresses, known := make(map[netip.Addr]string), make(map[string][]*kubeapi.Service)
	items, err := s.server.Services(ctx, func(one *kubeapi.Service) {
		for _, address := range one.Addresses {
			addresses[address] = one.Namespace + "/" + one.Name
		}
		if here[one.Namespace] {
			known[one.Namespace] = append(known[one.Namespace], one)
		}
	})
	if ctx.Err() != nil {
		return 0
	}
	s.degraded(err, nil, servicesNeed)
	if err == nil {
		for namespace := range here {
			known[namespace] = append([]*kubeapi.Service{}, known[namespace]...)
		}
		s.known = known
		s.directory.Set(addresses)
	}
	return items
}

// tell records what is known; unchanged facts are not sent.
func (s *services) tell() {
	leading := make(map[string][]netip.Addr)
	s.namespaces.each(func(one placed) {
		listed, ok := s.known[one.namespace]
		if !ok || one.selectable == nil {
			return
		}
		found := selecting(listed, one.selectable)
		s.registry.Fact(one.resource, catalogue.FactWorkloadServices, text(found))
		leading[one.path] = []netip.Addr{}
		for _, service := range found {
			leading[one.path] = append(leading[one.path], service.Addresses...)
		}
	})
	s.directory.Lead(leading)
}

// selecting returns the Services that select a pod, by name.
func selecting(listed []*kubeapi.Service, pod *names.Selectable) []selectedBy {
	found := []selectedBy{}
	for _, one := range listed {
		if one.Selects(pod.Labels) {
			found = append(found, selectedBy{one.Namespace + "/" + one.Name, one.Addresses, portsOf(one, pod)})
		}
	}
	slices.SortFunc(found, func(a, b selectedBy) int { return strings.Compare(a.Name, b.Name) })
	return found[:min(len(found), mostServices)]
}

func portsOf(of *kubeapi.Service, pod *names.Selectable) map[string]uint16 {
	ports := make(map[string]uint16)
	for _, one := range of.Ports {
		target := one.Target
		if one.TargetName != "" {
			target = pod.Ports[names.Port{Protocol: one.Protocol, Name: one.TargetName}]
		}
		if target != 0 { // else the pod has no port of that name
			ports[fmt.Sprintf("%d/%s", one.Port, one.Protocol)] = target
		}
	}
	return ports
}
