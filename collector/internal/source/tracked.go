package source

import (
	"slices"
	"sync"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// tracked keeps what a source holds for each cgroup. members is read by Sample; it changes between ticks only.
type tracked[T any] struct {
	registry *sampler.Registry
	open     func(*sampler.Group) *T // nil: nothing to sample in this cgroup
	shut     func(*T)

	members []*T
	groups  []*sampler.Group // of the same index
	mutex   sync.Mutex       // discovery side
}

// follow has the set follow the cgroups from now on.
func (t *tracked[T]) follow() { t.registry.OnCgroups(t.change) }

func (t *tracked[T]) change(added, removed []*sampler.Group) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	gone := make(map[*sampler.Group]bool, len(removed))
	for _, group := range removed {
		gone[group] = true
	}
	members := make([]*T, 0, len(t.members)+len(added))
	groups := make([]*sampler.Group, 0, len(t.members)+len(added))
	var shut []*T
	for i, member := range t.members {
		if gone[t.groups[i]] {
			shut = append(shut, member)
			continue
		}
		members, groups = append(members, member), append(groups, t.groups[i])
	}
	for _, group := range added {
		if member := t.open(group); member != nil {
			members, groups = append(members, member), append(groups, group)
		}
	}
	t.registry.Between(func() { t.members, t.groups = members, groups })
	for _, member := range shut {
		t.shut(member)
	}
}

// list returns the members for the discovery side.
func (t *tracked[T]) list() []*T {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Clone(t.members)
}

// close shuts everything after the last Sample.
func (t *tracked[T]) close() {
	for _, member := range t.members {
		t.shut(member)
	}
	t.members, t.groups = nil, nil
}

// due spreads slow reads evenly over ticks: member index is read at every tenth tick.
func due(tick sampler.Tick, index int) bool { return (tick.Sequence+uint64(index))%slowEvery == 0 }

// slowEvery is how many ticks lie between slow reads: 1 s.
const slowEvery = 10
