package runtime

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
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

// addCompilation adds to the time that the compiler of the JVM took, in its file.
func addCompilation(t *testing.T, proc string, took time.Duration) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(proc, "[0-9]*/root/tmp/hsperfdata_app/1"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	entry := bytes.Index(data, []byte("java.ci.totalTime\x00")) - 20 // the name follows the head of the entry
	at := entry + int(binary.LittleEndian.Uint32(data[entry+16:]))
	binary.LittleEndian.PutUint64(data[at:], binary.LittleEndian.Uint64(data[at:])+uint64(took.Nanoseconds()))
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
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
	addCompilation(t, proc, 7*time.Millisecond)
	r.Ticks(3)
	compiled := 0.0
	for _, us := range r.Values(key, catalogue.JITCompileUS) {
		compiled += us
	}
	if compiled != 7000 {
		t.Errorf("compilations took %v us, want 7000", compiled)
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
