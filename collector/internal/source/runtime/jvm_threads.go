package runtime

import (
	"slices"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/threads"
)

// mostJVMThreads bounds the threads of all JVMs that are read at each tick, at one or two microseconds each.
const mostJVMThreads = 256

// How HotSpot names its threads, measured with OpenJDK 17 and 25; the kernel keeps 15 bytes. Without threads of its own
// for it, a JVM collects on its VM thread, which does little else. JDK 8 does not give its threads names.
var (
	gcThreads = []string{
		"GC Thread#", "VM Thread", "G1 Main Marker", "G1 Conc#", "G1 Refine#", "G1 Service", "G1 Young RemSet", "Shenandoah ", "ZWorker", "ZDriver",
	}
	jitThreads = []string{"C1 CompilerThre", "C2 CompilerThre", "JVMCI-native Co", "JVMCI CompilerT"}
)

// jvmThreads reads the CPU time of the threads on which a JVM collects garbage and compiles: also of what G1 does while
// the program runs, which no pause shows.
type jvmThreads struct {
	gc, jit jvmWork
	named   map[int]*namedThread // of the last listing; discovery
}

// jvmWork is one kind of work with its threads.
type jvmWork struct {
	metric  uint32
	threads threads.Set
	slot    batch.Slot
	cpuNS   uint64 // of all its threads, including ended ones
}

// namedThread is what the name of a thread says. A thread gives itself its name soon after it has begun to run.
type namedThread struct {
	looks int
	born  bool     // after the JVM was found
	work  *jvmWork // nil: none that is read
}

const namedWithin = 2 // listings, which are at least a second apart

func newJVMThreads() *jvmThreads {
	return &jvmThreads{
		gc:  jvmWork{metric: catalogue.GCCPUUS, slot: batch.NoSlot},
		jit: jvmWork{metric: catalogue.JITCPUUS, slot: batch.NoSlot},
	}
}

func (t *jvmThreads) all() [2]*jvmWork { return [2]*jvmWork{&t.gc, &t.jit} }

// follow follows the threads that come and go, unless they are more than most, and returns how many it would read. What
// a thread did that was not listed before counts from its start.
func (t *jvmThreads) follow(registry *sampler.Registry, watched *procwatch.Process, most int) int {
	before, count := t.named, 0
	wanted, born := make(map[*jvmWork][]int), make(map[int]bool)
	t.named = make(map[int]*namedThread)
	for _, id := range threads.List(registry.Roots.Proc, watched.PID) {
		thread := before[id]
		if thread == nil {
			thread = &namedThread{born: before != nil}
		}
		t.named[id] = thread
		if thread.work == nil && thread.looks < namedWithin {
			thread.looks++
			thread.work = t.workOf(threads.Name(registry.Roots.Proc, watched.PID, id))
			born[id] = thread.born
		}
		if thread.work != nil {
			wanted[thread.work] = append(wanted[thread.work], id)
			count++
		}
	}
	if count > most {
		clear(wanted)
	}
	for _, work := range t.all() {
		if len(wanted[work]) > 0 && work.slot == batch.NoSlot {
			slot := registry.Series(watched.Resource, work.metric)
			registry.Between(func() { work.slot = slot })
		}
		work.threads.Follow(registry.Between, registry.Roots.Proc, watched.PID, wanted[work], func(id int) bool { return born[id] })
	}
	return count
}

func (t *jvmThreads) workOf(name string) *jvmWork {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case slices.ContainsFunc(gcThreads, begins):
		return &t.gc
	case slices.ContainsFunc(jitThreads, begins):
		return &t.jit
	}
	return nil
}

func (t *jvmThreads) record(buffer []byte, recorder *sampler.Recorder) {
	for _, work := range t.all() {
		read := false
		for _, thread := range work.threads.All {
			if did, ok := thread.Read(buffer); ok {
				work.cpuNS += did.CPUNS
				read = true
			}
		}
		if read {
			recorder.Delta(work.slot, work.cpuNS/1000)
		}
	}
}

func (t *jvmThreads) close() {
	for _, work := range t.all() {
		work.threads.Close()
	}
}
