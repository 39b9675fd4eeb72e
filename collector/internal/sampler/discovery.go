package sampler

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

const (
	discoverEvery = time.Second
	walkEvery     = 15 * time.Second // if inotify reports changes; a safety net
	restateEvery  = 60 * time.Second
	afterMkdir    = 50 * time.Millisecond // a new cgroup gets its limits and first process right after mkdir
)

func (e *Engine) openGroups() {
	layout, err := cgroup.Detect(e.config.Roots.Cgroup)
	if err != nil {
		e.log.Warn("no cgroups", "error", err, "needs", "the cgroup file system at "+e.config.Roots.Cgroup)
		return
	}
	e.groups.walker = &cgroup.Walker{Layout: layout, Limit: e.config.MaxCgroups}
	e.facts.set(batch.Node, "node.cgroup_version", strconv.Itoa(layout.Version), time.Now())
	watcher, err := cgroup.NewWatcher()
	if err != nil {
		e.log.Warn("cgroups are polled every second", "error", err)
		return
	}
	e.watcher = watcher
	e.groups.walker.Visit = watcher.Add
}

// refreshGroups walks the cgroup tree and notifies the sources.
func (e *Engine) refreshGroups(ctx context.Context) {
	walker := e.groups.walker
	if walker == nil {
		e.groups.tell()
		return
	}
	shed := walker.Shed
	if err := e.groups.refresh(ctx); err != nil {
		if ctx.Err() == nil {
			e.log.Warn("reading the cgroup tree failed", "error", err)
		}
		return
	}
	e.stats.Cgroups.Store(int64(e.groups.count()))
	e.stats.Shed.Store(int64(walker.Shed))
	if walker.Shed != shed {
		e.shedEvent(fmt.Sprintf("%d cgroups", walker.Limit+walker.Shed), fmt.Sprintf("%d cgroups", walker.Limit),
			"more cgroups than --max-cgroups; those with a CPU quota and those nearest to the root are kept")
	}
}

func (e *Engine) shedEvent(from, to, why string) {
	e.log.Warn("resolution lowered", "from", from, "to", to, "why", why)
	e.store.AppendEvent(batch.Node, &ingestpb.Event{
		Kind: "collector.shed", StartUs: nowUS(), Attributes: map[string]string{"from": from, "to": to, "why": why},
	})
}

// discoverLoop is the slow path: cgroups, then the sources' own discovery, about every second and soon after a change.
func (e *Engine) discoverLoop(ctx context.Context) {
	ticker := time.NewTicker(discoverEvery)
	defer ticker.Stop()
	var changed <-chan struct{}
	if e.watcher != nil {
		defer e.watcher.Close()
		changed = e.watcher.Changed()
	}
	walked, restated := time.Now(), time.Now()
	for {
		walk := false
		var again <-chan time.Time
		if e.groups.again {
			again = time.After(afterMkdir)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			walk = true
			time.Sleep(afterMkdir)
		case <-again:
			walk = true
		case <-ticker.C:
			walk = e.watcher == nil || !e.watcher.Complete() || time.Since(walked) >= walkEvery
		}
		if walk {
			walked = time.Now()
			e.refreshGroups(ctx)
		}
		e.discover(ctx)
		if time.Since(restated) >= restateEvery {
			restated = time.Now()
			e.status.restate()
		}
		if change, ok := e.budget.update(time.Now()); ok {
			e.shedEvent(change.From, change.To, change.Why)
		}
	}
}

func (e *Engine) discover(ctx context.Context) {
	for _, r := range e.running {
		if discoverer, ok := r.Source.(Discoverer); ok && !r.lost && ctx.Err() == nil {
			e.discoverOne(ctx, r, discoverer)
		}
	}
}

func (e *Engine) discoverOne(ctx context.Context, r *running, discoverer Discoverer) {
	defer func() {
		if cause := recover(); cause != nil {
			r.lost = true
			e.failed(r, cause)
		}
	}()
	discoverer.Discover(ctx)
}
