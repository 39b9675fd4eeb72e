package procwatch

import (
	"path"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// quotaFresh is how long a limit stays valid after it was read, unless the kernel reports a change earlier.
const quotaFresh = 5 * time.Second

// quotas reports which cgroups have a CPU limit, their own or an ancestor's.
type quotas struct {
	registry *sampler.Registry

	mu     sync.Mutex
	byPath map[string]quota
	grown  bool
}

type quota struct {
	limited bool
	at      time.Time
	epoch   uint64 // of the cgroups when it was read
}

func newQuotas(registry *sampler.Registry) *quotas {
	q := &quotas{registry: registry, byPath: make(map[string]quota)}
	registry.OnCgroups(func(added, removed []*sampler.Group) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.grown = q.grown || len(added) > 0
		for _, group := range removed {
			delete(q.byPath, group.Path)
		}
	})
	return q
}

// takeGrown reports whether cgroups appeared since the last call: processes might have moved into them.
func (q *quotas) takeGrown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	grown := q.grown
	q.grown = false
	return grown
}

func (q *quotas) limited(of string) bool {
	for at := of; at != "/" && at != "." && at != ""; at = path.Dir(at) {
		if q.own(at) {
			return true
		}
	}
	return false
}

func (q *quotas) own(at string) bool {
	epoch := q.registry.CgroupEpoch() // before reading, so that a change during the read counts
	q.mu.Lock()
	known, ok := q.byPath[at]
	q.mu.Unlock()
	if ok && known.epoch == epoch && time.Since(known.at) < quotaFresh {
		return known.limited
	}
	group, ok := q.registry.Cgroup(at)
	if !ok {
		return false
	}
	limits, err := cgroup.ReadCPULimits(group.Location)
	known = quota{limited: err == nil && limits.QuotaUS > 0, at: time.Now(), epoch: epoch}
	q.mu.Lock()
	q.byPath[at] = known
	q.mu.Unlock()
	return known.limited
}
