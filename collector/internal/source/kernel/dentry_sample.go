package kernel

import (
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// dentrySample is the latest reading of dentry_state, for sources that run after it in the same tick: the kernel visits
// every CPU for each read.
type dentrySample struct {
	negative atomic.Int64
	endUS    atomic.Int64 // of the tick
}

// sharedDentrySample returns that of the registry's engine.
func sharedDentrySample(registry *sampler.Registry) *dentrySample {
	return registry.Shared("dentry_sample", func() any { return &dentrySample{} }).(*dentrySample)
}

func (d *dentrySample) set(tick sampler.Tick, negative int64) {
	d.negative.Store(negative)
	d.endUS.Store(tick.EndUS())
}

// get returns the number of negative dentries, if it was read in this tick.
func (d *dentrySample) get(tick sampler.Tick) (negative int64, ok bool) {
	return d.negative.Load(), d.endUS.Load() == tick.EndUS()
}
