package pods

import (
	"context"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("autoscalers", func() sampler.Source { return &autoscalers{lists: lists{looks: autoscalersLooks}} })
}

const (
	autoscalersLooks = 5 * time.Second
	autoscalersNeed  = "a service account that can list horizontalpodautoscalers and verticalpodautoscalers"
)

// autoscalers records for each container the settings of the autoscalers of its workload. It sends requests only if the
// node has containers of a namespace, and samples nothing.
type autoscalers struct {
	lists
}

func (a *autoscalers) Name() string { return "autoscalers" }

func (a *autoscalers) Start(ctx context.Context, registry *sampler.Registry) error {
	return a.begin(ctx, registry, a.ask, nil)
}

// ask reads both lists and records what they say; that one is forbidden does not prevent the other. It returns how many
// items they have.
func (a *autoscalers) ask(ctx context.Context, here map[string]bool, _ time.Time) (items int) {
	// What starts during the requests may have an autoscaler that was created with it.
	asked := make(map[batch.ResourceID]bool)
	a.namespaces.each(func(one placed) { asked[one.resource] = one.owner != "" })
	wanted := func(namespace string) bool { return here[namespace] }
	horizontal, ofHorizontal, horizontalErr := a.server.HorizontalAutoscalers(ctx, wanted)
	vertical, ofVertical, verticalErr := a.server.VerticalAutoscalers(ctx, wanted)
	if ctx.Err() != nil {
		return 0
	}
	a.degraded(horizontalErr, verticalErr, autoscalersNeed)
	a.namespaces.each(func(one placed) {
		if !asked[one.resource] {
			return
		}
		of := kubeapi.Scaled{Namespace: one.namespace, Owner: one.owner}
		if settings, there := horizontal[of]; horizontalErr == nil {
			a.tell(one, catalogue.FactWorkloadAutoscaler, there, settings)
		}
		if settings, there := vertical[of]; verticalErr == nil {
			a.tell(one, catalogue.FactWorkloadVerticalAutoscaler, there, settings.Of(one.container))
		}
	})
	return ofHorizontal + ofVertical
}

// tell records settings, or {} if there are none; unchanged facts are not sent.
func (a *autoscalers) tell(of placed, fact string, there bool, settings any) {
	value := "{}"
	if there {
		value = text(settings)
	}
	a.registry.Fact(of.resource, fact, value)
}
