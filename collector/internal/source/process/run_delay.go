package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
	"github.com/jitterscope/jitterscope/collector/internal/threads"
)

func init() { source.Register("run_delay", func() sampler.Source { return &runDelay{} }) }

// runDelay samples how long the threads of the watched processes were runnable and waited for a CPU. Waiting counts
// when it ends: a thread that waits for half a second adds 500 ms to the tick in which it gets a CPU.
type runDelay struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	sampled  sampler.Members[*procwatch.Process, delayedProcess]
	busiest  busiest // discovery
	buffer   [128]byte
}

type delayedProcess struct {
	watched *procwatch.Process
	threads threads.Set
	slot    batch.Slot
	waitNS  uint64       // of all threads, including ended ones
	listed  map[int]bool // in the last listing; discovery
}

func (r *runDelay) Name() string { return "run_delay" }

func (r *runDelay) Start(_ context.Context, registry *sampler.Registry) error {
	text, err := os.ReadFile(filepath.Join(registry.Roots.Proc, "thread-self/schedstat"))
	if own, ok := procfs.ParseSchedstat(text); err != nil || !ok || own.CPUNS == 0 { // a kernel that does not count says 0
		return &sampler.Unavailable{
			Detail: fmt.Sprintf("/proc/PID/task/TID/schedstat does not count (%q, %v)", text, err), Needs: "a kernel with CONFIG_SCHEDSTATS",
		}
	}
	r.registry, r.watcher = registry, procwatch.Shared(registry)
	r.sampled = sampler.Members[*procwatch.Process, delayedProcess]{
		Registry: registry, Open: r.open, Shut: func(p *delayedProcess) { p.threads.Close() },
	}
	r.watcher.Subscribe(r.sampled.Change)
	return nil
}

func (r *runDelay) open(watched *procwatch.Process) *delayedProcess {
	return &delayedProcess{watched: watched, slot: r.registry.Series(watched.Resource, catalogue.ProcessRunDelayUS)}
}

// Discover follows the threads that come and go.
func (r *runDelay) Discover(ctx context.Context) {
	r.watcher.Refresh(ctx)
	processes := r.sampled.List()
	listed := make([][]int, len(processes))
	total := 0
	for i, p := range processes {
		listed[i] = threads.List(r.registry.Roots.Proc, p.watched.PID)
		total += len(listed[i])
	}
	wanted := listed
	if r.registry.Degraded("", ""); total > mostThreads {
		wanted = r.busiest.choose(r.registry.Roots.Proc, processes, listed, time.Now())
		r.registry.Degraded(fmt.Sprintf("only the busiest %d of %d threads are read: process_run_delay_us is a lower bound", mostThreads, total), "")
	}
	for i, p := range processes {
		p.follow(r.registry, wanted[i], listed[i])
	}
}

// follow starts reading a process's threads. A thread that did not exist a moment ago began at zero.
func (p *delayedProcess) follow(registry *sampler.Registry, wanted, listed []int) {
	if len(listed) == 0 {
		return // gone
	}
	before := p.listed
	p.threads.Follow(registry.Between, registry.Roots.Proc, p.watched.PID, wanted, func(id int) bool { return before != nil && !before[id] })
	p.listed = make(map[int]bool, len(listed))
	for _, id := range listed {
		p.listed[id] = true
	}
}

func (r *runDelay) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	for _, p := range r.sampled.All {
		read := false
		for _, thread := range p.threads.All {
			if did, ok := thread.Read(r.buffer[:]); ok {
				p.waitNS += did.WaitNS
				read = true
			}
		}
		if read {
			recorder.Delta(p.slot, p.waitNS/1000)
		}
	}
}

func (r *runDelay) Close() error {
	r.sampled.Close()
	return nil
}
