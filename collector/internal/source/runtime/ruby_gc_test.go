package runtime

import (
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// Places, in the order of their meanings.
const mark, marked, sweep, swept = 0, 1, 2, 3

type step struct {
	us    int64
	place uint8
}

// span is a cycle as it is reported.
type span struct{ startUS, endUS, markingUS int64 }

// heap is a process with a lazyHeap, and what it has reported.
type heap struct {
	*probedProcess
	finished handover.Ring[finishedCollection]
}

func newHeap() *heap {
	p := newProbedProcess(&procwatch.Process{}, 1, nil, []meaning{begins, ends, sweepBegins, sweepEnds})
	p.heap = &lazyHeap{}
	return &heap{probedProcess: p}
}

func (h *heap) take(steps ...step) {
	for _, s := range steps {
		h.probedProcess.take(moment(s.us, s.place, 1, 0), &cRuby, &h.finished)
	}
}

// until closes a tick of 100 µs.
func (h *heap) until(us int64) (cycles int, activeUS, stoppedUS int64) {
	h.settle(us, &h.finished)
	_, activeUS = h.cycles.Tick(us, 100)
	cycles, stoppedUS = h.pauses.Tick(us, 100)
	return cycles, activeUS, stoppedUS
}

func (h *heap) spans() (all []span) {
	for f, ok := h.finished.Take(); ok; f, ok = h.finished.Take() {
		all = append(all, span{f.startUS, f.endUS, f.markingUS})
	}
	return all
}

func (h *heap) wants(t *testing.T, us int64, cycles int, activeUS, stoppedUS int64) {
	t.Helper()
	if c, a, s := h.until(us); c != cycles || a != activeUS || s != stoppedUS {
		t.Errorf("until %d: %d cycles, active %d, stopped %d; want %d, %d, %d", us, c, a, s, cycles, activeUS, stoppedUS)
	}
}

func TestRubyMarksAndSweepsInOneStop(t *testing.T) {
	h := newHeap()
	h.take(step{1005, swept}) // of what began before
	h.take(step{1010, mark}, step{1030, sweep}, step{1035, swept}, step{1040, marked})
	h.take(step{1095, sweep}, step{1097, swept}) // more room is needed
	h.wants(t, 1100, 1, 32, 32)
	h.wants(t, 1200, 0, 0, 0)
	if got := h.spans(); !slices.Equal(got, []span{{1010, 1040, 0}}) {
		t.Errorf("%+v", got)
	}
}

func TestRubySweepsAfterMarking(t *testing.T) {
	h := newHeap()
	h.take(step{1010, mark}, step{1030, marked}, step{1032, sweep}, step{1035, swept}, step{1036, sweep}, step{1040, swept})
	h.wants(t, 1100, 1, 29, 27)
	h.wants(t, 1200, 0, 0, 0)
	if got := h.spans(); !slices.Equal(got, []span{{1010, 1040, 0}}) {
		t.Errorf("%+v", got)
	}
}

func TestRubyMarksInSteps(t *testing.T) {
	h := newHeap()
	h.take(step{1010, mark}, step{1030, marked})
	h.wants(t, 1100, 0, 90, 20)
	for us := int64(1200); us <= 11000; us += 100 {
		h.wants(t, us, 0, 100, 0)
	}
	h.take(step{11050, sweep}, step{11070, swept})
	h.wants(t, 11100, 1, 70, 20)
	h.take(step{11150, sweep}, step{11160, swept})
	h.wants(t, 11200, 0, 10, 10)
	if got := h.spans(); !slices.Equal(got, []span{{1010, 11070, 10040}}) {
		t.Errorf("%+v", got)
	}
}

func TestRubyThatHardlyAllocates(t *testing.T) {
	h := newHeap()
	const since, later = 10 * batch.StepUS, 200 * batch.StepUS
	h.take(step{since, mark}, step{since + 20, marked})
	_, activeUS := h.cycles.Tick(since+batch.StepUS, batch.StepUS)
	if activeUS != batch.StepUS {
		t.Errorf("it marks: %d", activeUS)
	}
	h.settle(later, &h.finished)
	if _, activeUS = h.cycles.Tick(later, batch.StepUS); activeUS != 0 {
		t.Errorf("active for %d us without doing anything", activeUS)
	}
	h.take(step{later + 10, sweep}, step{later + 30, swept})
	h.settle(later+batch.StepUS, &h.finished)
	if _, activeUS = h.cycles.Tick(later+batch.StepUS, batch.StepUS); activeUS != 20 {
		t.Errorf("active for %d us", activeUS)
	}
	if got := h.spans(); !slices.Equal(got, []span{{later + 10, later + 30, 0}}) {
		t.Errorf("%+v", got)
	}
}

func TestRubyWhoseMomentsWereLost(t *testing.T) {
	h := newHeap()
	h.take(step{1010, mark}, step{1020, sweep}, step{1050, mark}, step{1060, sweep}, step{1070, swept}, step{1080, marked})
	h.wants(t, 1100, 1, 70, 70)
	h.take(step{1110, mark})
	h.forget()
	h.take(step{1190, marked})
	h.wants(t, 1200, 0, 0, 0)
}

func TestTakingOfRubyDoesNotAllocate(t *testing.T) {
	h, now := newHeap(), int64(0)
	if allocations := testing.AllocsPerRun(100, func() {
		h.take(step{now + 10, mark}, step{now + 20, sweep}, step{now + 30, swept}, step{now + 40, marked})
		now += 100
		h.until(now)
	}); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestRubyOptions(t *testing.T) {
	directory := sourcetest.Tree(t, map[string]string{
		"environ": "SECRET=--yjit\x00RUBY_GC_HEAP_GROWTH_FACTOR=1.1\x00RUBY_GC_SECRET=x\x00RUBYOPT=-r./secret --yjit\x00WEB_CONCURRENCY=4\x00",
		"cmdline": "ruby\x00--yjit-exec-mem-size=64\x00app.rb\x00--jit\x00",
	})
	want := []string{"RUBY_GC_HEAP_GROWTH_FACTOR=1.1", "--yjit", "WEB_CONCURRENCY=4", "--yjit-exec-mem-size=64"}
	if got := rubyOptions(directory); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if otherCollector([]string{"RUBY_GC_LIBRARY=default"}) != "" || otherCollector([]string{"RUBY_GC_LIBRARY=mmtk"}) != "mmtk" {
		t.Error("which collector it has")
	}
}
