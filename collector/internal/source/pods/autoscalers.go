package pods

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("autoscalers", func() sampler.Source { return &autoscalers{looks: autoscalersLooks} })
}

const (
	autoscalersLooks = 5 * time.Second
	autoscalersNeed  = "a service account that can list horizontalpodautoscalers and verticalpodautoscalers"
)

// autoscalers records for each container the settings of the autoscalers of its workload. It sends requests only if the
// node has containers of a namespace, and samples nothing.
type autoscalers struct {
	registry   *sampler.Registry
	server     kubeapi.Server
	namespaces *namespaces
	looks      time.Duration
	asking     sync.WaitGroup
}

func (a *autoscalers) Name() string { return "autoscalers" }

func (a *autoscalers) Start(ctx context.Context, registry *sampler.Registry) error {
	server, err := registry.APIServer()
	if err != nil {
		return err
	}
	a.registry, a.server, a.namespaces = registry, server, sharedNamespaces(registry)
	a.asking.Go(func() { a.loop(ctx) })
	return nil
}

func (a *autoscalers) loop(ctx context.Context) {
	ticker := time.NewTicker(a.looks)
	defer ticker.Stop()
	var pace listsPace
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if here := a.namespaces.here(); pace.isDue(here, now) {
				pace.asked(here, a.ask(ctx, here), now)
			}
		}
	}
}

// ask reads both lists and records what they say; that one is forbidden does not prevent the other. It returns how many
// items they have.
func (a *autoscalers) ask(ctx context.Context, here map[string]bool) (items int) {
	// What starts during the requests may have an autoscaler that was created with it.
	asked := make(map[batch.ResourceID]bool)
	a.namespaces.each(func(one placed) { asked[one.resource] = one.owner != "" })
	wanted := func(namespace string) bool { return here[namespace] }
	horizontal, ofHorizontal, horizontalErr := a.server.HorizontalAutoscalers(ctx, wanted)
	vertical, ofVertical, verticalErr := a.server.VerticalAutoscalers(ctx, wanted)
	if ctx.Err() != nil {
		return 0
	}
	if err := cmp.Or(horizontalErr, verticalErr); err != nil {
		a.registry.Degraded(err.Error(), autoscalersNeed)
	} else {
		a.registry.Degraded("", "")
	}
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

func (a *autoscalers) Sample(sampler.Tick, *sampler.Recorder) {}

func (a *autoscalers) Close() error {
	a.asking.Wait()
	return nil
}
