package runtime

import (
	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/gcspans"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/probes"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// threadsMost is how many threads of a process may collect at once: each worker of Node.js has a heap of its own.
const threadsMost = 64

// probedProcess is a process whose collections are seen by probes.
type probedProcess struct {
	watched    *procwatch.Process
	number     uint32 // in the moments of its probes
	attachment *probes.Attachment
	ends       []bool

	running  [threadsMost]runningCollection
	active   int // of them
	timeline gcspans.Timeline
	counting bool // since the first whole tick

	cyclesSlot, activeSlot, pauseSlot batch.Slot
}

type runningCollection struct {
	thread    uint32 // 0: none
	beganUS   int64
	collector string
}

func newProbedProcess(
	registry *sampler.Registry, watched *procwatch.Process, number uint32, attachment *probes.Attachment, ends []bool,
) *probedProcess {
	series := func(metric uint32) batch.Slot { return registry.Series(watched.Resource, metric) }
	return &probedProcess{
		watched: watched, number: number, attachment: attachment, ends: ends,
		cyclesSlot: series(catalogue.GCCycles), activeSlot: series(catalogue.GCActiveUS), pauseSlot: series(catalogue.GCPauseUS),
	}
}

// take adds a moment. It does not allocate.
func (p *probedProcess) take(m probes.Moment, kind *runtimeKind, finished *handover.Ring[finishedCollection]) {
	if int(m.Place) >= len(p.ends) {
		return
	}
	if p.ends[m.Place] {
		p.end(m, kind, finished)
		return
	}
	if collector, ok := kind.collector(m.Argument); ok {
		p.begin(m, collector)
	}
}

func (p *probedProcess) begin(m probes.Moment, collector string) {
	free := -1
	for i := range p.running {
		switch p.running[i].thread {
		case m.Thread: // its end was not seen: the thread collects again
			p.running[i] = runningCollection{m.Thread, m.TimeUS, collector}
			return
		case 0:
			if free < 0 {
				free = i
			}
		}
	}
	if free < 0 {
		return
	}
	p.running[free] = runningCollection{m.Thread, m.TimeUS, collector}
	if p.active++; p.active == 1 {
		p.timeline.Begin(m.TimeUS)
	}
}

func (p *probedProcess) end(m probes.Moment, kind *runtimeKind, finished *handover.Ring[finishedCollection]) {
	for i := range p.running {
		r := &p.running[i]
		if r.thread != m.Thread {
			continue
		}
		if collector, ok := kind.collector(m.Argument); kind.namesEnd && (!ok || collector != r.collector) {
			return // of something else within the collection
		}
		finished.Put(finishedCollection{
			resource: p.watched.Resource, source: kind.gcSource, startUS: r.beganUS, endUS: m.TimeUS, collector: r.collector,
		})
		r.thread = 0
		if p.active--; p.active == 0 {
			p.timeline.End(m.TimeUS)
		} else {
			p.timeline.Loose(1, 0) // others go on
		}
		return
	}
}

func (p *probedProcess) forget() {
	p.running, p.active, p.timeline = [threadsMost]runningCollection{}, 0, gcspans.Timeline{}
}

// record writes the tick, and those before it that the sampler missed: probes are exact about time.
func (p *probedProcess) record(tick sampler.Tick, recorder *sampler.Recorder) {
	for back := min(tick.Missed, batch.Lag); back >= 0; back-- {
		cycles, activeUS := p.timeline.Tick(tick.EndUS()-int64(back)*batch.StepUS, batch.StepUS)
		if p.counting {
			recorder.SetAt(back, p.cyclesSlot, float64(cycles))
			recorder.SetAt(back, p.activeSlot, float64(activeUS))
			recorder.SetAt(back, p.pauseSlot, float64(activeUS))
		}
	}
	p.counting = true
}
