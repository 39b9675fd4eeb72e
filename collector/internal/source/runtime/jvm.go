package runtime

import (
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/gcspans"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/hsperf"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// jvm is one JVM. As far as they are visible, its collectors pause the program for as long as they work.
type jvm struct {
	watched    *procwatch.Process
	alive      int32 // its CPU clock
	file       procfs.Held
	used       int
	clock      hsperf.Clock
	collectors []jvmCollector
	heap       hsperf.Heap
	cause      hsperf.String
	counting   bool // since the first tick, which only sets the start
	threads    *jvmThreads

	cycles, active, pause, live, goal batch.Slot
}

type jvmCollector struct {
	*hsperf.Collector
	step     hsperf.Step
	timeline gcspans.Timeline
}

// newJVM returns nil and the names of the collectors if none of them counts its pauses.
func newJVM(registry *sampler.Registry, watched *procwatch.Process, o *opening) (*jvm, string) {
	pausing, others := o.layout.Collectors(o.data)
	describeJVM(registry, watched, o, append(names(pausing), others...))
	if len(pausing) == 0 {
		o.file.Close()
		return nil, strings.Join(others, ", ")
	}
	series := func(metric uint32) batch.Slot { return registry.Series(watched.Resource, metric) }
	j := &jvm{
		watched: watched, alive: procfs.CPUClock(watched.PID), file: o.file, used: o.layout.Used(), clock: o.clock, heap: o.layout.Heap(o.data), cause: o.layout.String("sun.gc.lastCause"),
		cycles: series(catalogue.GCCycles), active: series(catalogue.GCActiveUS), pause: series(catalogue.GCPauseUS),
		live: batch.NoSlot, goal: batch.NoSlot, threads: newJVMThreads(),
	}
	if _, _, ok := j.heap.Live(o.data); ok {
		j.live, j.goal = series(catalogue.HeapLiveBytes), series(catalogue.HeapGoalBytes)
	}
	for _, collector := range pausing {
		j.collectors = append(j.collectors, jvmCollector{Collector: collector})
	}
	registry.Fact(watched.Resource, "runtime.gc_source", "hsperfdata")
	return j, ""
}

func (j *jvm) close() {
	j.file.Close()
	j.threads.close()
}

// read reads what happened since the last tick.
func (j *jvm) read(data []byte, wall *bpf.Clock, finished *handover.Ring[finishedCollection]) {
	now := monotonicNS()
	j.clock.Look(data, now)
	ended := 0
	for i := range j.collectors {
		c := &j.collectors[i]
		c.step = c.Read(data)
		for _, moment := range [...]int64{c.step.Ended.End, c.step.Whole.End, c.step.Begun} {
			if moment != 0 && j.counting {
				j.clock.Bound(moment, now)
			}
		}
		if c.step.Ended.End != 0 || c.step.Whole.End != 0 {
			ended++
		}
	}
	if !j.clock.Known() {
		return
	}
	us := func(ticks int64) int64 { return wall.NS(uint64(j.clock.NS(ticks))) / 1000 }
	for i := range j.collectors {
		c := &j.collectors[i]
		for _, span := range [...]*hsperf.Span{&c.step.Ended, &c.step.Whole} {
			if span.End == 0 {
				continue
			}
			f := finishedCollection{source: "hsperfdata", resource: j.watched.Resource, startUS: us(span.Begin), endUS: us(span.End), collector: c.Name}
			if ended == 1 && (span == &c.step.Whole || c.step.Whole.End == 0) { // the last of all
				f.causeLength = copy(f.cause[:], j.cause.In(data))
			}
			finished.Put(f)
		}
		c.place(us, &j.clock)
	}
}

// place adds what the collector did to its timeline.
func (c *jvmCollector) place(us func(ticks int64) int64, clock *hsperf.Clock) {
	s := &c.step
	if s.Ended.End != 0 {
		c.timeline.End(us(s.Ended.End))
	}
	loose := s.Loose
	if s.Over {
		c.timeline.End(c.timeline.Closed()) // it counts there
		loose--
	}
	if s.Whole.End != 0 {
		c.timeline.Begin(us(s.Whole.Begin))
		c.timeline.End(us(s.Whole.End))
	}
	c.timeline.Loose(loose, clock.US(s.LooseTicks))
	if s.Begun != 0 {
		c.timeline.Begin(us(s.Begun))
	}
}

// record writes the tick, and those before it that the sampler missed: the times of collections are exact.
func (j *jvm) record(data []byte, tick sampler.Tick, recorder *sampler.Recorder) {
	for back := min(tick.Missed, batch.Lag); back >= 0; back-- {
		cycles, activeUS := 0, int64(0)
		for i := range j.collectors {
			n, us := j.collectors[i].timeline.Tick(tick.EndUS()-int64(back)*batch.StepUS, batch.StepUS)
			cycles, activeUS = cycles+n, activeUS+us
		}
		if j.counting && j.clock.Known() {
			recorder.SetAt(back, j.cycles, float64(cycles))
			recorder.SetAt(back, j.active, float64(min(activeUS, batch.StepUS)))
			recorder.SetAt(back, j.pause, float64(min(activeUS, batch.StepUS)))
		}
	}
	j.counting = true
	if live, goal, ok := j.heap.Live(data); ok {
		recorder.Set(j.live, float64(live))
		recorder.Set(j.goal, float64(goal))
	}
}
