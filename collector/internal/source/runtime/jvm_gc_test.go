package runtime

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

const (
	libjvm = "7fb34de00000-7fb34e051000 r-xp 00251000 fe:00 315152 /usr/lib/jvm/lib/server/libjvm.so\n"
	shared = "7fb34f1ad000-7fb34f1b5000 rw-s 00000000 fe:00 9990706 /tmp/hsperfdata_app/1\n" // its PID in a container
)

// addJVM adds a process that is a JVM and shares a captured file, or none.
func addJVM(t *testing.T, proc, capture string) {
	t.Helper()
	pid, _ := sourcetest.AddProcess(t, proc, "unbound", "/") // a name that is watched
	maps := libjvm
	if capture != "" {
		maps += shared
		sourcetest.Write(t, proc, fmt.Sprintf("%d/root/tmp/hsperfdata_app/1", pid), "@../../hsperf/testdata/openjdk-17-"+capture+".hsperfdata")
	}
	sourcetest.Write(t, proc, fmt.Sprintf("%d/maps", pid), maps)
	sourcetest.Write(t, proc, fmt.Sprintf("%d/cmdline", pid), "java\x00-Xmx1g\x00-XX:-UsePerfData\x00Main\x00")
}

// addThread adds a thread of the JVM, or changes what it did.
func addThread(t *testing.T, proc string, id int, name string, ran time.Duration) {
	t.Helper()
	task := fmt.Sprintf("%d/task/%d/", os.Getpid(), id)
	sourcetest.Write(t, proc, task+"comm", name+"\n")
	sourcetest.Write(t, proc, task+"schedstat", fmt.Sprintf("%012d 0 7\n", ran.Nanoseconds()))
}

// discoverUntil looks again as discovery does, without the pauses in between.
func discoverUntil(t *testing.T, g *jvmGC, r *sourcetest.Run, condition func() bool) {
	t.Helper()
	r.Eventually("the JVM is known", func() bool {
		g.jvms.mu.Lock()
		for _, c := range g.jvms.candidates {
			c.due, c.wait = time.Time{}, lookFirst
		}
		g.jvms.mu.Unlock()
		g.Discover(t.Context())
		return condition()
	})
}

func TestJVM(t *testing.T) {
	proc := t.TempDir()
	addJVM(t, proc, "parallel")
	g := &jvmGC{}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{g}})
	key := sourcetest.ProcessKey()
	discoverUntil(t, g, r, func() bool { return r.Fact(key, "runtime.gc_source") == "hsperfdata" })
	r.Ticks(3)
	for name, want := range map[string]string{
		"runtime.name": "jvm", "runtime.version": "17.0.15", "runtime.options": `["-Xmx1500m","-XX:+UseParallelGC"]`, "runtime.cpus": "",
		"runtime.gc_kind": "Parallel young collection pauses, Parallel full collection pauses",
	} {
		if got := r.Fact(key, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	// The file does not change, so the JVM has no time yet and nothing can be placed: no collections are reported.
	if got := r.Values(key, catalogue.GCCycles); len(got) != 0 {
		t.Errorf("cycles %v", got)
	}
	live, goal := r.Values(key, catalogue.HeapLiveBytes), r.Values(key, catalogue.HeapGoalBytes)
	if len(live) == 0 || live[0] < 1<<20 || goal[0] <= live[0] {
		t.Errorf("live %v, goal %v", live, goal)
	}
	j := g.jvms.found[0]
	data, _ := j.file.Read(g.buffer[:j.used])
	var clock bpf.Clock
	clock.Set()
	if allocations := testing.AllocsPerRun(20, func() { j.read(data, &clock, &g.finished) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
	if status := r.Status("jvm_gc"); status != "ACTIVE" {
		t.Errorf("status %s", status)
	}
}

func TestJVMThreads(t *testing.T) {
	proc := t.TempDir()
	addJVM(t, proc, "g1")
	const marker, compiler, program, worker, later = 101, 102, 103, 104, 105
	addThread(t, proc, marker, "G1 Conc#0", 5*time.Second)
	addThread(t, proc, compiler, "C2 CompilerThre", 5*time.Second)
	addThread(t, proc, program, "http-nio-8080-e", 5*time.Second)
	g := &jvmGC{}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{g}})
	key := sourcetest.ProcessKey()
	discoverUntil(t, g, r, func() bool { return r.Fact(key, "runtime.gc_source") == "hsperfdata" })
	r.Ticks(2)
	addThread(t, proc, marker, "G1 Conc#0", 5*time.Second+30*time.Millisecond)
	addThread(t, proc, compiler, "C2 CompilerThre", 5*time.Second+7*time.Millisecond)
	addThread(t, proc, program, "http-nio-8080-e", 6*time.Second)
	addThread(t, proc, worker, "GC Thread#1", 2*time.Millisecond)
	addThread(t, proc, later, "java", time.Millisecond) // it has not named itself yet
	g.Discover(t.Context())
	r.Ticks(2)
	addThread(t, proc, later, "C1 CompilerThre", 3*time.Millisecond)
	g.Discover(t.Context())
	r.Ticks(2)
	sum := func(metric uint32) (us float64) {
		for _, value := range r.Values(key, metric) {
			us += value
		}
		return us
	}
	if gc, jit := sum(catalogue.GCCPUUS), sum(catalogue.JITCPUUS); gc != 32_000 || jit != 10_000 {
		t.Errorf("GC took %v us of CPU time, want 32000; compilers %v, want 10000", gc, jit)
	}
	for i := range mostJVMThreads {
		addThread(t, proc, 1000+i, "GC Thread#9", time.Hour)
	}
	g.Discover(t.Context())
	if status := r.Status("jvm_gc"); !strings.Contains(status, "more than 256") {
		t.Errorf("status %s", status)
	}
	r.Ticks(2)
	for i := range mostJVMThreads {
		sourcetest.Remove(t, proc, fmt.Sprintf("%d/task/%d", os.Getpid(), 1000+i))
	}
	g.Discover(t.Context())
	r.Ticks(2)
	if gc := sum(catalogue.GCCPUUS); gc != 32_000 {
		t.Errorf("GC took %v us of CPU time after all, want 32000", gc)
	}
}

func TestJVMWithoutSharedData(t *testing.T) {
	proc := t.TempDir()
	addJVM(t, proc, "")
	g := &jvmGC{}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{g}})
	key := sourcetest.ProcessKey()
	if got := r.Fact(key, "runtime.options"); got != `["-Xmx1g","-XX:-UsePerfData"]` {
		t.Errorf("options %q", got)
	}
	if got := r.Fact(key, "runtime.gc_source"); got != "" {
		t.Errorf("collections are taken from %q", got)
	}
	if status := r.Status("jvm_gc"); !strings.Contains(status, "share no performance data") {
		t.Errorf("status %s", status)
	}
}

func TestJVMWhoseFileIsNoSuchFile(t *testing.T) {
	proc := t.TempDir()
	addJVM(t, proc, "")
	pid := os.Getpid()
	sourcetest.Write(t, proc, fmt.Sprintf("%d/maps", pid), libjvm+shared)
	sourcetest.Write(t, proc, fmt.Sprintf("%d/root/tmp/hsperfdata_app/1", pid), strings.Repeat("x", 300<<10))
	g := &jvmGC{}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{g}})
	discoverUntil(t, g, r, func() bool { return len(g.opening) == 0 })
	r.Ticks(2)
	if got := r.Fact(sourcetest.ProcessKey(), "runtime.name"); got != "" {
		t.Errorf("it is a %q", got)
	}
}
