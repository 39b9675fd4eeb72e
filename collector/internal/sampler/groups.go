package sampler

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// Group is a watched cgroup.
type Group struct {
	cgroup.Location
	Resource batch.ResourceID
	Born     bool // created while the collector ran: its counters began at 0
}

// groups follows the cgroup tree and notifies the sources of changes.
type groups struct {
	store    *batch.Store
	walker   *cgroup.Walker
	released func(batch.ResourceID)
	leftOut  sandboxes
	again    bool // a cgroup was held back in the last walk

	epoch atomic.Uint64

	mu          sync.Mutex
	byPath      map[string]*Group
	subscribers []func(added, removed []*Group)
	walked      bool
	waiting     []func(added, removed []*Group) // subscribed, not notified of the existing groups yet
}

func newGroups(store *batch.Store, proc string, released func(batch.ResourceID)) *groups {
	return &groups{store: store, released: released, leftOut: sandboxes{proc: proc}, byPath: make(map[string]*Group)}
}

func (g *groups) get(path string) (*Group, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	group, ok := g.byPath[path]
	return group, ok
}

func (g *groups) subscribe(change func(added, removed []*Group)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, change)
}

// refresh walks the tree once and notifies the subscribers.
func (g *groups) refresh(ctx context.Context) error {
	before := g.walker.Shed
	locations, err := g.walker.Walk(ctx)
	if err != nil {
		return err
	}
	locations, g.again = g.leftOut.leaveOut(locations, time.Now())
	g.mu.Lock()
	var added, removed []*Group
	present := make(map[string]struct{}, len(locations))
	for _, location := range locations { // parents come first
		present[location.Path] = struct{}{}
		continues := false
		if old, ok := g.byPath[location.Path]; ok {
			if old.Location.Same(location) {
				continue
			}
			continues = location.Continues(old.Location)
			removed = append(removed, old) // the same path, created again or with other controllers
			delete(g.byPath, location.Path)
		}
		parent := batch.Node
		if above, ok := g.byPath[location.Parent()]; ok {
			parent = above.Resource
		}
		resource := g.store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, location.Path, parent)
		if resource == batch.NoResource {
			continue
		}
		group := &Group{Location: location, Resource: resource, Born: g.walked && !continues && before+g.walker.Shed == 0}
		g.byPath[location.Path] = group
		added = append(added, group)
	}
	for path, group := range g.byPath {
		if _, ok := present[path]; !ok {
			removed = append(removed, group)
			delete(g.byPath, path)
		}
	}
	g.walked = true
	existing := make([]*Group, 0, len(g.byPath))
	for _, location := range locations {
		if group, ok := g.byPath[location.Path]; ok {
			existing = append(existing, group)
		}
	}
	subscribers, waiting := g.subscribers, g.waiting
	g.subscribers, g.waiting = append(g.subscribers[:len(g.subscribers):len(g.subscribers)], waiting...), nil
	g.mu.Unlock()

	if len(added)+len(removed) > 0 {
		for _, change := range subscribers {
			change(added, removed)
		}
	}
	for _, change := range waiting {
		change(existing, nil)
	}
	g.epoch.Add(1)
	for _, group := range removed {
		if current, ok := g.get(group.Path); !ok || current.Resource != group.Resource {
			g.released(group.Resource)
		}
	}
	return nil
}

// tell calls the waiting subscribers if there is no cgroup file system: they learn that there are no groups.
func (g *groups) tell() {
	g.mu.Lock()
	waiting := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	for _, change := range waiting {
		change(nil, nil)
	}
}

func (g *groups) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.byPath)
}
