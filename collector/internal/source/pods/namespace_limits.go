package pods

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("namespace_limits", func() sampler.Source { return &namespaceLimits{lists: lists{looks: namespaceLimitsLooks}} })
}

const (
	// Containers that start are told at once what is known of their namespace.
	namespaceLimitsLooks = 5 * time.Second
	namespaceLimitsNeed  = "a service account that can list limitranges and resourcequotas"
)

// namespaceLimits records for each container what the LimitRanges of its namespace allow, and what its quotas do. It
// sends requests only if the node has containers of a namespace, and samples nothing.
type namespaceLimits struct {
	lists

	// Used by the loop alone. Absent: not known.
	allowed map[string]string // by namespace, JSON
	quotas  map[string]string
	history map[string]*quotaHistory
}

func (n *namespaceLimits) Name() string { return "namespace_limits" }

func (n *namespaceLimits) Start(ctx context.Context, registry *sampler.Registry) error {
	n.allowed, n.quotas, n.history = map[string]string{}, map[string]string{}, map[string]*quotaHistory{}
	return n.begin(ctx, registry, n.ask, n.tell)
}

// ask reads both lists; that one is forbidden does not prevent the other. It returns how many items they have.
func (n *namespaceLimits) ask(ctx context.Context, here map[string]bool, now time.Time) (items int) {
	wanted := func(namespace string) bool { return here[namespace] }
	ranges, limitRanges, rangesErr := n.server.LimitRanges(ctx, wanted)
	quotas, resourceQuotas, quotasErr := n.server.Quotas(ctx, wanted)
	if ctx.Err() != nil {
		return 0
	}
	if rangesErr == nil {
		n.allowed = make(map[string]string, len(here))
		for namespace := range here {
			n.allowed[namespace] = text(ranges[namespace])
		}
	}
	if quotasErr == nil {
		n.keep(here, quotas, now)
	}
	n.degraded(rangesErr, quotasErr, namespaceLimitsNeed)
	return limitRanges + resourceQuotas
}

func (n *namespaceLimits) keep(here map[string]bool, quotas map[string]kubeapi.Quotas, now time.Time) {
	history := make(map[string]*quotaHistory, len(here))
	n.quotas = make(map[string]string, len(here))
	for namespace := range here {
		of := n.history[namespace]
		if of == nil {
			of = &quotaHistory{}
		}
		read := quotas[namespace]
		if read == nil {
			read = kubeapi.Quotas{}
		}
		history[namespace], n.quotas[namespace] = of, text(of.next(read, now))
	}
	n.history = history
}

// tell records what is known; unchanged facts are not sent.
func (n *namespaceLimits) tell() {
	n.namespaces.each(func(one placed) {
		for name, known := range map[string]map[string]string{
			catalogue.FactWorkloadLimitRange: n.allowed, catalogue.FactWorkloadQuota: n.quotas,
		} {
			if value, ok := known[one.namespace]; ok {
				n.registry.Fact(one.resource, name, value)
			}
		}
	})
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return "{}" // numbers and names always have a form
	}
	return string(encoded)
}
