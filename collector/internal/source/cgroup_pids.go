package source

import (
	"context"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

func init() { register("cgroup_pids", func() sampler.Source { return &cgroupPids{} }) }

// cgroupPids samples the number of tasks of every cgroup.
type cgroupPids struct {
	registry *sampler.Registry
	set      tracked[pidsGroup]
	buffer   [64]byte
}

type pidsGroup struct {
	current procfs.Held
	slot    batch.Slot
}

func (p *cgroupPids) Name() string { return "cgroup_pids" }

func (p *cgroupPids) Start(_ context.Context, registry *sampler.Registry) error {
	if err := needsCgroups(registry, func(l cgroup.Layout) bool { return l.Pids != "" }, "pids"); err != nil {
		return err
	}
	p.registry = registry
	p.set = tracked[pidsGroup]{registry: registry, open: p.open, shut: func(g *pidsGroup) { g.current.Close() }}
	p.set.follow()
	return nil
}

func (p *cgroupPids) open(group *sampler.Group) *pidsGroup {
	if group.Pids == "" {
		return nil
	}
	current := procfs.HoldIfExists(group.Pids + "/pids.current")
	if !current.Open() {
		return nil
	}
	return &pidsGroup{current: current, slot: p.registry.Series(group.Resource, catalogue.PidsCurrent)}
}

func (p *cgroupPids) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	for i, g := range p.set.members {
		if tick.Shed >= sampler.ShedSlowGauges && !due(tick, i) {
			continue
		}
		if text, ok := g.current.Read(p.buffer[:]); ok {
			if tasks, ok := cgroup.ParseUint(text); ok {
				recorder.Set(g.slot, float64(tasks))
			}
		}
	}
}

func (p *cgroupPids) Close() error {
	p.set.close()
	return nil
}
