package source

import (
	"context"
	"math/bits"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

func init() { register("process", func() sampler.Source { return &process{} }) }

// process samples the CPU time and the threads of the watched processes.
type process struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	sampled  []sampledProcess // changed in Registry.Between alone
	buffer   [512]byte
}

type sampledProcess struct {
	watched      *procwatch.Process
	clock        int32
	stat         procfs.Held
	cpu, threads batch.Slot
}

func (p *process) Name() string { return "process" }

func (p *process) Start(_ context.Context, registry *sampler.Registry) error {
	p.registry, p.watcher = registry, procwatch.Shared(registry)
	p.watcher.Subscribe(p.change)
	return nil
}

func (p *process) Discover(ctx context.Context) {
	p.watcher.Refresh(ctx)
	if shed := p.watcher.Shed(); shed > 0 {
		p.registry.Degraded(strconv.Itoa(shed)+" processes more than the limit of "+strconv.Itoa(procwatch.Limit)+" are not watched", "")
	} else {
		p.registry.Degraded("", "")
	}
}

// cpuClock is the clock id of a whole process's CPU time in nanoseconds, MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of
// the kernel's posix-timers.h. It is one system call without parsing, and finer than the 10 ms of /proc/PID/stat.
func cpuClock(pid int) int32 { return int32(^pid)<<3 | 2 }

func (p *process) change(added, removed []*procwatch.Process) {
	gone := make(map[*procwatch.Process]bool, len(removed))
	for _, watched := range removed {
		gone[watched] = true
		p.registry.Event(watched.Resource, "process.exit", time.Now().UnixMicro(), 0, map[string]string{"command": watched.Command})
	}
	fresh := make([]sampledProcess, 0, len(added))
	for _, watched := range added {
		p.describe(watched)
		fresh = append(fresh, sampledProcess{
			watched: watched, clock: cpuClock(watched.PID),
			stat:    procfs.HoldIfExists(filepath.Join(p.registry.Roots.Proc, strconv.Itoa(watched.PID), "stat")),
			cpu:     p.registry.Series(watched.Resource, catalogue.ProcessCPUUS),
			threads: p.registry.Series(watched.Resource, catalogue.ProcessThreads),
		})
	}
	p.registry.Between(func() {
		kept := p.sampled[:0]
		for _, s := range p.sampled {
			if gone[s.watched] {
				s.stat.Close()
			} else {
				kept = append(kept, s)
			}
		}
		p.sampled = append(kept, fresh...)
	})
}

func (p *process) describe(watched *procwatch.Process) {
	startUS := time.Now().UnixMicro()
	var boot unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) == nil {
		// Field 22 of /proc/PID/stat counts in 10 ms since boot.
		startUS -= boot.Nano()/1000 - int64(watched.StartTicks)*10_000
	}
	p.registry.Event(watched.Resource, "process.start", startUS, 0, map[string]string{"command": watched.Command})
	p.registry.Fact(watched.Resource, "process.command", watched.Command)
	p.registry.Fact(watched.Resource, "process.executable", watched.Executable)
	var affinity unix.CPUSet
	if err := unix.SchedGetaffinity(watched.PID, &affinity); err == nil {
		cpus := 0
		for _, word := range affinity {
			cpus += bits.OnesCount64(uint64(word))
		}
		p.registry.Fact(watched.Resource, "process.affinity_cpus", strconv.Itoa(cpus))
	}
}

func (p *process) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	var now unix.Timespec
	for i := range p.sampled {
		s := &p.sampled[i]
		if unix.ClockGettime(s.clock, &now) == nil {
			recorder.Delta(s.cpu, uint64(now.Nano()/1000))
		}
		// Counting threads makes the kernel visit each of them: spread over a second.
		if (tick.Sequence+uint64(i))%10 == 0 {
			if text, ok := s.stat.Read(p.buffer[:]); ok {
				if threads, ok := procfs.ParseThreads(text); ok {
					recorder.Set(s.threads, float64(threads))
				}
			}
		}
	}
}

func (p *process) Close() error {
	for i := range p.sampled {
		p.sampled[i].stat.Close()
	}
	return nil
}
