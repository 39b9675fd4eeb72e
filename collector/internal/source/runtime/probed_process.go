package runtime

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/gcspans"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/probes"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// threadsMost is how many threads of a process can collect at once: each worker of Node.js has its own heap.
const threadsMost = 64

// probedProcess is a process whose collections are followed by probes.
type probedProcess struct {
	watched    *procwatch.Process
	number     uint32 // in the moments of its probes
	attachment *probes.Attachment
	means      []meaning

	heap    *lazyHeap // nil: each thread collects its own, or no other thread collects meanwhile
	threads [threadsMost]collectingThread
	// How many threads are in a cycle, and how many of those are paused for it.
	active, stopped int
	cycles, pauses  gcspans.Timeline
	counting        bool // since the first whole tick
	// unproven: a program that links the runtime and has not been seen to run it. Nothing is reported for it, because
	// that would be 0 collections.
	unproven  *program
	collected bool

	cyclesSlot, activeSlot, pauseSlot batch.Slot
}

// collectingThread is a thread whose heap is being collected.
type collectingThread struct {
	thread    uint32 // 0: none
	markingUS int64  // since when its heap is being marked while the program runs; 0: it is not
	stoppedUS int64  // since when it is paused; 0: it is not
	collector string // that paused it
}

func newProbedProcess(watched *procwatch.Process, number uint32, attachment *probes.Attachment, means []meaning) *probedProcess {
	return &probedProcess{watched: watched, number: number, attachment: attachment, means: means}
}

// series creates its series, before record writes them.
func (p *probedProcess) series(registry *sampler.Registry) {
	series := func(metric uint32) batch.Slot { return registry.Series(p.watched.Resource, metric) }
	p.cyclesSlot, p.activeSlot, p.pauseSlot = series(catalogue.GCCycles), series(catalogue.GCActiveUS), series(catalogue.GCPauseUS)
}

// take adds a moment. It does not allocate.
func (p *probedProcess) take(m probes.Moment, kind *runtimeKind, finished *handover.Ring[finishedCollection]) {
	if int(m.Place) >= len(p.means) {
		return
	}
	if p.heap != nil {
		p.takeLazy(m.TimeUS, p.means[m.Place], kind, finished)
		return
	}
	if p.means[m.Place] == ends {
		p.end(m, kind, finished)
		return
	}
	if kind.marks != nil && kind.marks(m.Argument) {
		if t := p.enter(m); t != nil {
			t.markingUS = m.TimeUS // also if an earlier marking was given up
		}
		return
	}
	if collector, ok := kind.collector(m.Argument); ok {
		p.collected = true
		p.stop(m, collector)
	}
}

// enter returns the state of the thread of a moment at which something begins; nil if there are too many.
func (p *probedProcess) enter(m probes.Moment) *collectingThread {
	free := -1
	for i := range p.threads {
		switch p.threads[i].thread {
		case m.Thread:
			return &p.threads[i]
		case 0:
			if free < 0 {
				free = i
			}
		}
	}
	if free < 0 {
		return nil
	}
	p.threads[free] = collectingThread{thread: m.Thread}
	if p.active++; p.active == 1 {
		p.cycles.Begin(m.TimeUS)
	}
	return &p.threads[free]
}

func (p *probedProcess) stop(m probes.Moment, collector string) {
	t := p.enter(m)
	if t == nil {
		return
	}
	again := t.stoppedUS != 0 // its end was not seen
	t.stoppedUS, t.collector = m.TimeUS, collector
	if again {
		return
	}
	if p.stopped++; p.stopped == 1 {
		p.pauses.Begin(m.TimeUS)
	}
}

func (p *probedProcess) end(m probes.Moment, kind *runtimeKind, finished *handover.Ring[finishedCollection]) {
	for i := range p.threads {
		t := &p.threads[i]
		if t.thread != m.Thread {
			continue
		}
		collector, ok := kind.collector(m.Argument)
		if t.stoppedUS == 0 || kind.namesEnd && (!ok || collector != t.collector) {
			return // of something nested in the collection
		}
		one := finishedCollection{
			resource: p.watched.Resource, source: kind.gcSource, startUS: t.stoppedUS, endUS: m.TimeUS, collector: t.collector,
		}
		if t.markingUS != 0 && t.collector == kind.marked {
			one.startUS, one.markingUS, t.markingUS = t.markingUS, t.stoppedUS-t.markingUS, 0
		}
		finished.Put(one)
		t.stoppedUS = 0
		if p.stopped--; p.stopped == 0 {
			p.pauses.End(m.TimeUS)
		} else {
			p.pauses.Loose(1, 0) // others are still paused
		}
		if t.markingUS == 0 {
			p.leave(t, m.TimeUS)
		}
		return
	}
}

func (p *probedProcess) leave(t *collectingThread, us int64) {
	t.thread = 0
	if p.active--; p.active == 0 {
		p.cycles.End(us)
	}
}

func (p *probedProcess) forget() {
	p.threads, p.active, p.stopped = [threadsMost]collectingThread{}, 0, 0
	p.cycles, p.pauses = gcspans.Timeline{}, gcspans.Timeline{}
	if p.heap != nil {
		*p.heap = lazyHeap{}
	}
}

// marking appends the threads whose heaps have been marked for more than a tick.
func (p *probedProcess) marking(threads []uint32) []uint32 {
	for _, t := range p.threads {
		if t.thread != 0 && t.markingUS != 0 && t.stoppedUS == 0 && t.markingUS < p.cycles.Closed()-batch.StepUS {
			threads = append(threads, t.thread)
		}
	}
	return threads
}

// abandon ends the marking of a thread that has exited: nothing else will end it.
func (p *probedProcess) abandon(thread uint32) {
	for i := range p.threads {
		if t := &p.threads[i]; t.thread == thread && t.stoppedUS == 0 {
			p.leave(t, p.cycles.Closed())
		}
	}
}

// has reports whether the process still has a thread.
func (p *probedProcess) has(proc string, thread uint32) bool {
	_, err := os.Stat(filepath.Join(proc, strconv.Itoa(p.watched.PID), "task", strconv.FormatUint(uint64(thread), 10)))
	return !os.IsNotExist(err)
}

// record writes the tick, and those before it that the sampler missed: probes have exact times.
func (p *probedProcess) record(tick sampler.Tick, recorder *sampler.Recorder) {
	for back := min(tick.Missed, batch.Lag); back >= 0; back-- {
		endUS := tick.EndUS() - int64(back)*batch.StepUS
		_, activeUS := p.cycles.Tick(endUS, batch.StepUS)
		// Each cycle ends with a pause; those of young objects end within others.
		ended, stoppedUS := p.pauses.Tick(endUS, batch.StepUS)
		if p.counting && p.unproven == nil {
			recorder.SetAt(back, p.cyclesSlot, float64(ended))
			recorder.SetAt(back, p.activeSlot, float64(activeUS))
			recorder.SetAt(back, p.pauseSlot, float64(stoppedUS))
		}
	}
	p.counting = true
}
