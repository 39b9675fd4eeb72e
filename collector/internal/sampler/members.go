package sampler

import (
	"slices"
	"sync"
)

// Members keeps a source's state for things that come and go, such as cgroups. Change follows them: pass it to
// Registry.OnCgroups or the like.
type Members[K comparable, T any] struct {
	Registry *Registry
	Open     func(K) *T // nil: nothing to sample for this one
	Shut     func(*T)   // after the last Sample that saw it

	All   []*T // read by Sample; changes only between ticks
	keys  []K  // by the same index
	mutex sync.Mutex
}

// Change adds the new members and removes the vanished ones.
func (m *Members[K, T]) Change(added, removed []K) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	gone := make(map[K]bool, len(removed))
	for _, key := range removed {
		gone[key] = true
	}
	all := make([]*T, 0, len(m.All)+len(added))
	keys := make([]K, 0, len(m.All)+len(added))
	var shut []*T
	for i, member := range m.All {
		if gone[m.keys[i]] {
			shut = append(shut, member)
			continue
		}
		all, keys = append(all, member), append(keys, m.keys[i])
	}
	for _, key := range added {
		if member := m.Open(key); member != nil {
			all, keys = append(all, member), append(keys, key)
		}
	}
	m.Registry.Between(func() { m.All, m.keys = all, keys })
	for _, member := range shut {
		m.Shut(member)
	}
}

// List returns the members for the discovery side.
func (m *Members[K, T]) List() []*T {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.All)
}

// Close shuts all members after the last Sample.
func (m *Members[K, T]) Close() {
	for _, member := range m.All {
		m.Shut(member)
	}
	m.All, m.keys = nil, nil
}
