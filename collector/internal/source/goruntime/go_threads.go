package goruntime

import (
	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/gctrace"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/threads"
)

// maxGoThreads bounds how many threads of a process are read per tick.
const maxGoThreads = 48

// goThreads is the last resort for a process without probes and without a metrics page: see gctrace.ThreadTracker.
type goThreads struct {
	threads threads.Set
	tracker gctrace.ThreadTracker
	times   [maxGoThreads]gctrace.ThreadTimes
	buffer  [128]byte
}

// follow opens the files of new threads and closes those of ended ones.
func (g *goThreads) follow(registry *sampler.Registry, pid int) {
	if ids := threads.List(registry.Roots.Proc, pid); len(ids) > 0 {
		g.threads.Follow(registry.Between, registry.Roots.Proc, pid, ids[:min(len(ids), maxGoThreads)], func(int) bool { return false })
	}
}

// sample reads the threads and records suspected cycles. Pauses cannot be seen this way.
func (g *goThreads) sample(tick sampler.Tick, recorder *sampler.Recorder, p *goProcess, finished *handover.Ring[finishedCycle]) {
	count := 0
	for _, thread := range g.threads.All {
		if did, ok := thread.Read(g.buffer[:]); ok {
			g.times[count] = gctrace.ThreadTimes{CPUUS: int64(did.CPUNS / 1000), Slices: int64(did.Slices)}
			count++
		}
	}
	if tick.Missed > 0 {
		return // the readings cover more than a tick
	}
	marking, cycle, ended := g.tracker.Tick(tick.StartUS, tick.EndUS(), g.times[:count])
	active, cycles := 0.0, 0.0
	if marking {
		active = batch.StepUS
	}
	if ended {
		cycles = 1
		finished.Put(finishedCycle{p.watched.Resource, cycle, "threads"})
	}
	recorder.Set(p.active, active)
	recorder.Set(p.cycles, cycles)
}
