package sampler

import (
	"context"
	"time"
)

// Every calls do once per period until ctx ends, first after one period, off the sampling thread. No source is closed
// before the last call has returned, nor are the batches that it can write to.
func (r *Registry) Every(ctx context.Context, period time.Duration, do func()) {
	r.engine.background.Go(func() {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				do()
			}
		}
	})
}
