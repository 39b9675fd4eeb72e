package pods

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// lists asks the API server for lists of the whole cluster if the node has containers of a namespace, and samples nothing.
type lists struct {
	registry   *sampler.Registry
	server     kubeapi.Server
	namespaces *namespaces
	looks      time.Duration
	asking     sync.WaitGroup
}

// begin calls ask whenever the lists are due, with the namespaces that are here; it returns how many items they have.
// After each look it calls tell, if there is one.
func (l *lists) begin(
	ctx context.Context, registry *sampler.Registry, ask func(ctx context.Context, here map[string]bool, now time.Time) (items int), tell func(),
) error {
	server, err := registry.APIServer()
	if err != nil {
		return err
	}
	l.registry, l.server, l.namespaces = registry, server, sharedNamespaces(registry)
	l.asking.Go(func() {
		ticker := time.NewTicker(l.looks)
		defer ticker.Stop()
		var pace listsPace
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				if here := l.namespaces.here(); pace.isDue(here, now) {
					pace.asked(here, ask(ctx, here, now), now)
				}
				if tell != nil {
					tell()
				}
			}
		}
	})
	return nil
}

// degraded says what is needed after the first of two errors, or that all is well after none.
func (l *lists) degraded(first, second error, need string) {
	if err := cmp.Or(first, second); err != nil {
		l.registry.Degraded(err.Error(), need)
	} else {
		l.registry.Degraded("", "")
	}
}

func (l *lists) Sample(sampler.Tick, *sampler.Recorder) {}

func (l *lists) Close() error {
	l.asking.Wait()
	return nil
}
