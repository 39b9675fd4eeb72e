package sampler

import (
	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
)

// ThrottledSeries are the series of throttled periods of a cgroup and its ancestors, as far as they have a CPU limit.
// The source cgroup_cpu writes them.
func (r *Registry) ThrottledSeries(path string) []batch.Slot {
	var slots []batch.Slot
	for at := path; at != "/" && at != ""; {
		group, ok := r.Cgroup(at)
		if !ok {
			break
		}
		if limits, err := cgroup.ReadCPULimits(group.Location); err == nil && limits.QuotaUS > 0 {
			slots = append(slots, r.Series(group.Resource, catalogue.CPUThrottledPeriods))
		}
		at = group.Parent()
	}
	return slots
}

// Throttled reports whether one of these series has a throttled period in the current tick.
func (r *Recorder) Throttled(series []batch.Slot) bool {
	for _, slot := range series {
		if r.Value(slot) > 0 {
			return true
		}
	}
	return false
}
