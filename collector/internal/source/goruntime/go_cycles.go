package goruntime

import (
	"strconv"
	"sync"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/gctrace"
)

// finishedCycles hands cycles from the sampling thread, which must not allocate, to the one that makes events of them.
type finishedCycles struct {
	mu     sync.Mutex
	ring   [512]finishedCycle
	start  int
	length int
	lost   uint64
}

type finishedCycle struct {
	resource batch.ResourceID
	cycle    gctrace.Cycle
	source   string
}

func (f *finishedCycles) put(resource batch.ResourceID, cycle gctrace.Cycle, source string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.length == len(f.ring) {
		f.lost++
		return
	}
	f.ring[(f.start+f.length)%len(f.ring)] = finishedCycle{resource, cycle, source}
	f.length++
}

func (f *finishedCycles) take() (batch.ResourceID, gctrace.Cycle, string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.length == 0 {
		return 0, gctrace.Cycle{}, "", false
	}
	oldest := f.ring[f.start]
	f.start = (f.start + 1) % len(f.ring)
	f.length--
	return oldest.resource, oldest.cycle, oldest.source, true
}

func (f *finishedCycles) lostCount() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// Finish turns the cycles that ended since the last call into events, off the sampling thread.
func (g *goRuntime) Finish() {
	for {
		resource, cycle, source, ok := g.finished.take()
		if !ok {
			return
		}
		attributes := map[string]string{"source": source}
		if source == "uprobe" { // nothing else sees pauses
			attributes["pause_us"] = strconv.FormatInt(cycle.PauseUS, 10)
		}
		g.registry.Event(resource, "go.gc_cycle", cycle.StartUS, cycle.EndUS-cycle.StartUS, attributes)
	}
}
