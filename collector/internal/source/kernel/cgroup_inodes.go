package kernel

import (
	"sync"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// cgroupInodes finds the cgroup that kernel programs identify by the inode of its directory.
type cgroupInodes struct {
	mutex  sync.Mutex
	groups map[uint64]*sampler.Group
}

// sharedCgroupInodes returns that of the registry's engine.
func sharedCgroupInodes(registry *sampler.Registry) *cgroupInodes {
	return registry.Shared("cgroup_inodes", func() any {
		c := &cgroupInodes{groups: make(map[uint64]*sampler.Group)}
		registry.OnCgroups(c.change)
		return c
	}).(*cgroupInodes)
}

func (c *cgroupInodes) change(added, removed []*sampler.Group) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, group := range removed {
		if c.groups[group.Inode()] == group {
			delete(c.groups, group.Inode())
		}
	}
	for _, group := range added {
		if inode := group.Inode(); inode != 0 {
			c.groups[inode] = group
		}
	}
}

// find returns the cgroup, nil if it is not watched: the root, one that is gone, one that is too new.
func (c *cgroupInodes) find(inode uint64) *sampler.Group {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.groups[inode]
}

// unified reports whether the node has cgroup v2.
func unified(registry *sampler.Registry) bool {
	layout, err := cgroup.Detect(registry.Roots.Cgroup)
	return err == nil && layout.Version == 2
}
