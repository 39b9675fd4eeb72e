package kernel

import (
	"context"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/exits"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("process_exits", func() sampler.Source { return &processExits{} }) }

// processExits counts threads that exit, and reports processes many of whose threads exit at once: each makes the
// kernel free its dentries of the thread's files under /proc.
type processExits struct {
	registry *sampler.Registry
	cgroups  *cgroupInodes
	tracer   *exits.Tracer
	slot     batch.Slot
}

func (p *processExits) Name() string { return "process_exits" }

func (p *processExits) Start(_ context.Context, registry *sampler.Registry) error {
	tracer, err := exits.Open(unified(registry))
	if err != nil {
		return &sampler.Unavailable{Detail: bpf.Explain(err), Needs: exits.Needs}
	}
	p.registry, p.tracer, p.cgroups = registry, tracer, sharedCgroupInodes(registry)
	p.slot = registry.Series(batch.Node, catalogue.ThreadExits)
	return nil
}

func (p *processExits) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	if count, ok := p.tracer.Count(); ok {
		recorder.Delta(p.slot, count)
	}
}

// Discover reports the mass exits that are over.
func (p *processExits) Discover(context.Context) {
	for _, mass := range p.tracer.Take() {
		resource := batch.Node
		if group := p.cgroups.find(mass.Cgroup); group != nil {
			resource = group.Resource
		}
		p.registry.Event(resource, catalogue.EventProcessMassExit, mass.StartUS, mass.EndUS-mass.StartUS, map[string]string{
			"command": mass.Command, "pid": strconv.FormatUint(uint64(mass.PID), 10), "threads": strconv.Itoa(mass.Threads),
		})
	}
}

func (p *processExits) Close() error { return p.tracer.Close() }
