package goruntime

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/gctrace"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// maxGoThreads bounds how many threads of a process are read in a tick.
const maxGoThreads = 48

// goThreads is the last resort for a process without probes and without a metrics page: see gctrace.ThreadTracker.
type goThreads struct {
	threads []goThread // changed in Registry.Between alone
	tracker gctrace.ThreadTracker
	times   [maxGoThreads]gctrace.ThreadTimes
	buffer  [128]byte
}

type goThread struct {
	id          int
	file        procfs.Held
	cpu, slices uint64
	known       bool
}

// follow opens the files of new threads and closes those of ended ones.
func (g *goThreads) follow(registry *sampler.Registry, pid int) {
	directory := filepath.Join(registry.Roots.Proc, strconv.Itoa(pid), "task")
	entries, err := os.ReadDir(directory)
	if err != nil {
		return
	}
	present := make(map[int]bool, len(entries))
	for _, entry := range entries {
		if id, err := strconv.Atoi(entry.Name()); err == nil && len(present) < maxGoThreads {
			present[id] = true
		}
	}
	var kept, gone []goThread
	for _, thread := range g.threads {
		if present[thread.id] {
			kept = append(kept, thread)
			delete(present, thread.id)
		} else {
			gone = append(gone, thread)
		}
	}
	if len(gone) == 0 && len(present) == 0 {
		return
	}
	for id := range present {
		if file, err := procfs.Hold(filepath.Join(directory, strconv.Itoa(id), "schedstat")); err == nil {
			kept = append(kept, goThread{id: id, file: file})
		}
	}
	registry.Between(func() {
		for i := range kept { // read meanwhile
			for _, now := range g.threads {
				if now.id == kept[i].id {
					kept[i] = now
				}
			}
		}
		g.threads = kept
	})
	for i := range gone {
		gone[i].file.Close()
	}
}

// sample reads the threads and records what is suspected. Pauses cannot be seen this way.
func (g *goThreads) sample(tick sampler.Tick, recorder *sampler.Recorder, p *goProcess, finished *finishedCycles) {
	count := 0
	for i := range g.threads {
		thread := &g.threads[i]
		text, ok := thread.file.Read(g.buffer[:])
		if !ok {
			continue
		}
		cpu, slices, ok := procfs.ParseSchedstat(text)
		if !ok {
			continue
		}
		if thread.known && count < len(g.times) {
			g.times[count] = gctrace.ThreadTimes{CPUUS: int64(cpu-thread.cpu) / 1000, Slices: int64(slices - thread.slices)}
			count++
		}
		thread.cpu, thread.slices, thread.known = cpu, slices, true
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
		finished.put(p.watched.Resource, cycle, "threads")
	}
	recorder.Set(p.active, active)
	recorder.Set(p.cycles, cycles)
}

func (g *goThreads) close() {
	for i := range g.threads {
		g.threads[i].file.Close()
	}
}
