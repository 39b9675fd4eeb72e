package goruntime

import (
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/gctrace"
)

// finishedCycle is a GC cycle on its way from the sampling thread to the goroutine that makes events.
type finishedCycle struct {
	resource batch.ResourceID
	cycle    gctrace.Cycle
	source   string
}

// Finish turns the cycles that ended since the last call into events, off the sampling thread.
func (g *goRuntime) Finish() {
	for {
		f, ok := g.finished.Take()
		if !ok {
			return
		}
		attributes := map[string]string{"source": f.source}
		if f.source == "uprobe" { // no other source sees pauses
			attributes["pause_us"] = strconv.FormatInt(f.cycle.PauseUS, 10)
		}
		g.registry.Event(f.resource, "go.gc_cycle", f.cycle.StartUS, f.cycle.EndUS-f.cycle.StartUS, attributes)
	}
}
