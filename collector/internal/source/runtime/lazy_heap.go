package runtime

import (
	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
)

const (
	// markedAtOnceUS: if sweeping begins so soon after marking, the program was stopped for both. Otherwise marking went
	// on in steps while the program ran, and sweeping begins when it is done.
	markedAtOnceUS = 1_000
	// sweptAtOnceUS: two sweeps so close are one stop: a program does not use up what it got from the first so quickly.
	sweptAtOnceUS = 50
	// markingMostUS: a heap is marked as the program allocates. If that takes longer than this, the program is as good
	// as idle, and so is its collector.
	markingMostUS = 10_000_000
)

// lazyHeap is the heap of a process that is marked and swept by whichever thread needs room. Its threads share a lock:
// only one of them is at it at a time, and the others are stopped.
//
// What is visible are stops: of marking (the beginning of it, if the rest follows in steps) and of sweeping, one within
// the other or one after the other. A cycle lasts from the begin of its marking to the end of the first sweep.
type lazyHeap struct {
	depth           int                // of what runs
	fromUS          int64              // begin of the running stop
	marks, sweeps   bool               // what it consists of so far
	markUS, afterUS int64              // begin and end of the stop for marking that no sweep has followed yet; 0: none
	idle            bool               // that marking takes so long that it does not count as active
	last            finishedCollection // whose stop may go on
	held            bool               // last waits to be reported
}

// takeLazy adds a moment of a process with a lazyHeap. It does not allocate.
func (p *probedProcess) takeLazy(us int64, means meaning, kind *runtimeKind, finished *handover.Ring[finishedCollection]) {
	switch means {
	case begins, sweepBegins:
		p.beginStop(us, means == begins)
	case ends, sweepEnds:
		p.endStop(us, kind, finished)
	}
}

func (p *probedProcess) beginStop(us int64, marks bool) {
	h := p.heap
	p.collected = true
	if marks && h.depth > 0 { // nothing else runs then: the end of what did was lost
		h.depth = 0
		p.pauses.Brief(us)
		p.cycles.Brief(us)
	}
	if h.depth++; h.depth == 1 {
		h.fromUS, h.marks, h.sweeps = us, false, false
		p.pauses.Begin(us)
		if marks || h.markUS == 0 || h.idle {
			p.cycles.Begin(us)
		}
	}
	h.marks, h.sweeps = h.marks || marks, h.sweeps || !marks
}

func (p *probedProcess) endStop(us int64, kind *runtimeKind, finished *handover.Ring[finishedCollection]) {
	h := p.heap
	if h.depth == 0 { // its begin was not seen
		return
	}
	if h.depth--; h.depth > 0 {
		return
	}
	switch {
	case !h.sweeps:
		h.markUS, h.afterUS, h.idle = h.fromUS, us, false
		p.pauses.Brief(us)
	case h.marks || h.markUS != 0:
		h.report(finished)
		h.last, h.held = h.cycle(us), true
		h.last.resource, h.last.source = p.watched.Resource, kind.gcSource
		h.markUS, h.idle = 0, false
		p.pauses.End(us)
		p.cycles.Brief(us)
	default:
		if h.held && h.fromUS-h.last.endUS < sweptAtOnceUS {
			h.last.endUS = us
		}
		p.pauses.Brief(us)
		p.cycles.Brief(us)
	}
}

// cycle is the one whose first sweep ends with the running stop.
func (h *lazyHeap) cycle(endUS int64) finishedCollection {
	one := finishedCollection{startUS: h.fromUS, endUS: endUS}
	if h.marks || h.markUS == 0 || h.idle {
		return one
	}
	one.startUS = h.markUS
	if h.fromUS-h.afterUS > markedAtOnceUS {
		one.markingUS = h.fromUS - h.markUS
	}
	return one
}

// report passes on the last cycle.
func (h *lazyHeap) report(finished *handover.Ring[finishedCollection]) {
	if h.held {
		finished.Put(h.last)
		h.held = false
	}
}

// settle decides at the end of a tick what only time tells: that no further sweep belongs to the last stop, and that a
// heap is hardly being marked.
func (p *probedProcess) settle(endUS int64, finished *handover.Ring[finishedCollection]) {
	h := p.heap
	if h == nil || h.depth > 0 {
		return
	}
	if h.last.endUS+sweptAtOnceUS < endUS {
		h.report(finished)
	}
	if h.markUS != 0 && !h.idle && h.markUS < endUS-markingMostUS && h.afterUS < endUS-batch.StepUS {
		h.idle = true
		p.cycles.Brief(p.cycles.Closed())
	}
}
