package procwatch

import (
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// choose decides which candidates are watched and reports the changes.
func (w *Watcher) choose() {
	var candidates []*known
	for pid, k := range w.known {
		if k.candidate != nil && k.candidate.DNS != "" && w.isFork(pid, k) { // seen before its parent was
			k.candidate = nil
		}
		w.place(k)
		if k.candidate != nil {
			candidates = append(candidates, k)
		}
	}
	slices.SortFunc(candidates, func(a, b *known) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return a.candidate.PID - b.candidate.PID
	})
	w.shed = max(0, len(candidates)-Limit)
	chosen := make(map[int]*Process, len(candidates))
	var added, removed []*Process
	for _, k := range candidates[:min(len(candidates), Limit)] {
		chosen[k.candidate.PID] = k.candidate
	}
	for pid, process := range w.watched {
		if chosen[pid] != process {
			removed = append(removed, process)
			delete(w.watched, pid)
		}
	}
	for pid, process := range chosen {
		if w.watched[pid] == nil && w.addResource(process, removed) {
			w.watched[pid] = process
			added = append(added, process)
		}
	}
	if len(added)+len(removed) == 0 {
		return
	}
	slices.SortFunc(added, func(a, b *Process) int { return a.PID - b.PID })
	for _, change := range w.subscribers {
		change(added, removed)
	}
	for _, process := range removed {
		w.registry.Remove(process.Resource)
	}
}

// place makes a process that is shown below the node another one once its cgroup is found.
func (w *Watcher) place(k *known) {
	if k.candidate == nil || !k.below {
		return
	}
	if _, ok := w.registry.Cgroup(k.candidate.Cgroup); ok {
		moved := *k.candidate
		k.candidate, k.below = &moved, false
	}
}

// addResource waits a round if the previous resource of the same key has not been released yet, or the cgroup has not
// been discovered yet.
func (w *Watcher) addResource(process *Process, removed []*Process) bool {
	for _, old := range removed {
		if old.PID == process.PID {
			return false
		}
	}
	parent := batch.Node
	if group, ok := w.registry.Cgroup(process.Cgroup); ok {
		parent = group.Resource
	} else if k := w.known[process.PID]; process.Cgroup != "/" {
		if k.unplaced.IsZero() {
			k.unplaced = time.Now()
		}
		if time.Since(k.unplaced) < placeWithin {
			return false
		}
		k.below = true
	}
	process.Resource = w.registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_PROCESS, process.Key(), parent)
	return process.Resource != batch.NoResource
}
