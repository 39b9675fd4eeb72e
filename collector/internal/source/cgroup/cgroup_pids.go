package cgroup

import (
	"context"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("cgroup_pids", func() sampler.Source { return &cgroupPids{} }) }

// cgroupPids samples the number of tasks of every cgroup.
type cgroupPids struct {
	registry *sampler.Registry
	set      sampler.Members[*sampler.Group, pidsGroup]
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
	p.set = sampler.Members[*sampler.Group, pidsGroup]{Registry: registry, Open: p.open, Shut: func(g *pidsGroup) { g.current.Close() }}
	registry.OnCgroups(p.set.Change)
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
	for i, g := range p.set.All {
		if tick.Shed >= sampler.ShedSlowGauges && !tick.Due(i) {
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
	p.set.Close()
	return nil
}
