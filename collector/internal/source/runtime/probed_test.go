package runtime

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/probes"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

const entry, over = 0, 1 // places

func moment(us int64, place uint8, thread uint32, argument uint64) probes.Moment {
	return probes.Moment{TimeUS: us, Place: place, Thread: thread, Argument: argument}
}

// collected passes moments to a process, and returns the collections, and what is on the grid of two ticks of 100 µs
// from 1000 on.
func collected(kind runtimeKind, moments ...probes.Moment) (all []finishedCollection, cycles [2]int, active, stopped [2]int64) {
	p := &probedProcess{watched: &procwatch.Process{Resource: batch.ResourceID(7)}, means: []meaning{begins, ends}}
	var ring handover.Ring[finishedCollection]
	for _, m := range moments {
		p.take(m, &kind, &ring)
	}
	for f, ok := ring.Take(); ok; f, ok = ring.Take() {
		all = append(all, f)
	}
	for i := range cycles {
		_, active[i] = p.cycles.Tick(1100+100*int64(i), 100)
		cycles[i], stopped[i] = p.pauses.Tick(1100+100*int64(i), 100)
	}
	return all, cycles, active, stopped
}

func TestCollectionsOfV8(t *testing.T) {
	all, cycles, active, stopped := collected(nodeJS,
		moment(1010, over, 1, 1),                            // of one that had begun before
		moment(1020, entry, 1, 1), moment(1030, over, 1, 1), // a scavenge
		moment(1090, entry, 1, 4), moment(1095, entry, 1, 16), // nested callbacks
		moment(1100, over, 1, 16), moment(1150, over, 1, 4),
	)
	if len(all) != 2 || all[0].collector != "scavenge" || all[0].startUS != 1020 || all[0].endUS != 1030 ||
		all[1].collector != "mark-sweep-compact" || all[1].startUS != 1090 || all[1].endUS != 1150 || all[1].source != "uprobe" {
		t.Errorf("%+v", all)
	}
	if cycles != [2]int{1, 1} || active != [2]int64{20, 50} || stopped != active {
		t.Errorf("%v cycles, active %v, stopped %v", cycles, active, stopped)
	}
}

func TestMarkCompactBeginsWithItsMarking(t *testing.T) {
	all, cycles, active, stopped := collected(nodeJS,
		moment(1010, entry, 1, 8), moment(1015, over, 1, 8), // marking begins
		moment(1030, entry, 1, 1), moment(1040, over, 1, 1), // a scavenge in between
		moment(1120, entry, 1, 4), moment(1150, over, 1, 4),
		moment(1160, entry, 1, 4), moment(1170, over, 1, 4), // without marking before
	)
	type span struct {
		collector             string
		start, end, markingUS int64
	}
	var got []span
	for _, one := range all {
		got = append(got, span{one.collector, one.startUS, one.endUS, one.markingUS})
	}
	want := []span{{"scavenge", 1030, 1040, 0}, {"mark-sweep-compact", 1010, 1150, 110}, {"mark-sweep-compact", 1160, 1170, 0}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if cycles != [2]int{1, 2} || active != [2]int64{90, 60} || stopped != [2]int64{10, 40} {
		t.Errorf("%v cycles, active %v, stopped %v", cycles, active, stopped)
	}
}

func TestMarkingThatWasGivenUp(t *testing.T) {
	all, cycles, active, _ := collected(nodeJS,
		moment(1010, entry, 1, 8), moment(1100, entry, 1, 8), moment(1130, entry, 1, 4), moment(1150, over, 1, 4),
	)
	if len(all) != 1 || all[0].startUS != 1100 || all[0].markingUS != 30 || cycles != [2]int{0, 1} || active != [2]int64{90, 50} {
		t.Errorf("%+v, %v cycles, active %v", all, cycles, active)
	}
}

func TestMarkingOfThreadThatHasGone(t *testing.T) {
	p := &probedProcess{watched: &procwatch.Process{}, means: []meaning{begins, ends}}
	var ring handover.Ring[finishedCollection]
	const since = 10 * batch.StepUS
	for _, thread := range []uint32{1, 2} {
		p.take(moment(since, entry, thread, 8), &nodeJS, &ring)
	}
	ticks := func(numbers ...int64) (active []int64) {
		for _, number := range numbers {
			_, us := p.cycles.Tick(since+number*batch.StepUS, batch.StepUS)
			active = append(active, us)
		}
		return active
	}
	ticks(1)
	if young := p.marking(nil); len(young) != 0 {
		t.Errorf("%v may still end in moments that are on their way", young)
	}
	ticks(2)
	if old := p.marking(nil); !slices.Equal(old, []uint32{1, 2}) {
		t.Errorf("marking: %v", old)
	}
	p.abandon(2)
	if active := ticks(3); active[0] != batch.StepUS {
		t.Errorf("the other still marks: %v", active)
	}
	p.abandon(1)
	p.abandon(1)
	if active := ticks(4, 5); active[0] != 0 || active[1] != 0 || p.active != 0 || len(p.marking(nil)) != 0 {
		t.Errorf("nothing marks any more: %v, %d", active, p.active)
	}
}

func TestCollectionsOfWorkersOverlap(t *testing.T) {
	all, cycles, active, _ := collected(nodeJS,
		moment(1010, entry, 1, 4), moment(1020, entry, 2, 1), moment(1030, over, 2, 1), moment(1060, over, 1, 4),
	)
	if len(all) != 2 || cycles != [2]int{2, 0} || active != [2]int64{50, 0} {
		t.Errorf("%+v, %v cycles, active %v", all, cycles, active)
	}
}

func TestCollectionWhoseEndWasLost(t *testing.T) {
	all, cycles, _, _ := collected(cPython, moment(1010, entry, 1, 0), moment(1050, entry, 1, 2), moment(1060, over, 1, 999))
	if len(all) != 1 || all[0].startUS != 1050 || all[0].collector != "generation 2" || cycles[0] != 1 {
		t.Errorf("%+v, %v cycles", all, cycles)
	}
}

func TestTakingDoesNotAllocate(t *testing.T) {
	p := &probedProcess{watched: &procwatch.Process{}, means: []meaning{begins, ends}}
	var ring handover.Ring[finishedCollection]
	if allocations := testing.AllocsPerRun(100, func() {
		p.take(moment(5, entry, 1, 8), &nodeJS, &ring)
		p.take(moment(10, entry, 1, 4), &nodeJS, &ring)
		p.take(moment(20, over, 1, 4), &nodeJS, &ring)
		p.cycles.Tick(100, 100)
		p.pauses.Tick(100, 100)
	}); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestOtherProgramsAreLeftAlone(t *testing.T) {
	proc := t.TempDir()
	pid, _ := sourcetest.AddProcess(t, proc, "unbound", "/")
	sourcetest.Write(t, proc, fmt.Sprintf("%d/maps", pid), "7f0000000000-7f0000001000 r-xp 00000000 fe:00 7 /usr/lib/libc.so.6\n")
	for _, kind := range []runtimeKind{nodeJS, cPython, cRuby} {
		r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&probed{runtime: kind}}})
		r.Ticks(2)
		if got := r.Fact(sourcetest.ProcessKey(), "runtime.name"); got != "" {
			t.Errorf("%s: it is a %q", kind.source, got)
		}
		if status := r.Status(kind.source); status != "ACTIVE" {
			t.Errorf("%s: %s", kind.source, status)
		}
	}
}

func TestNodeOptions(t *testing.T) {
	directory := sourcetest.Tree(t, map[string]string{
		"environ": "SECRET=--max-heap-size=1\x00NODE_OPTIONS=--max_semi_space_size=64 --require=/app/x.js\x00UV_THREADPOOL_SIZE=8\x00",
		"cmdline": "node\x00--max-old-space-size=300\x00--inspect=9229\x00server.js\x00--max-old-space-size=1\x00",
	})
	want := []string{"--max-semi-space-size=64", "UV_THREADPOOL_SIZE=8", "--max-old-space-size=300"}
	got := nodeOptions(directory)
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
