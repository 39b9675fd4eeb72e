package livetest

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// startJVM runs Collecting.java in a cgroup with a limit. wrap is prepended to the command.
func startJVM(t *testing.T, wrap []string, options ...string) (cgroup string) {
	t.Helper()
	for _, tool := range []string{"java", "javac"} {
		if _, err := exec.LookPath(tool); err != nil {
			testenv.Skip(t, "needs a JDK: %v", err)
		}
	}
	classes := varTmp(t)
	if out, err := exec.Command("javac", "-d", classes, "testdata/collecting/Collecting.java").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	directory, path := cgroupFor(t, 150_000)
	arguments := append(slices.Clone(options), "-cp", classes, "Collecting", "60000")
	startServer(t, append(inCgroup(directory), wrap...), "java", arguments...)
	return path
}

// varTmp is a folder that is removed after the test; it is not in /tmp, which containers have their own of.
func varTmp(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/var/tmp", "jitterscope-livetest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// collection is one pause, microseconds since the Unix epoch.
type collection struct{ beginUS, endUS int64 }

var pauseLine = regexp.MustCompile(`^\[(\d+)ns\]\[gc(,start)?\s*\] GC\((\d+)\) (Pause \w+)`)

// loggedPauses reads what the JVM logs itself: -Xlog:gc*:file=…:timenanos,tags, where time is CLOCK_MONOTONIC.
func loggedPauses(t *testing.T, file string) (pauses []collection) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var clock bpf.Clock
	clock.Set()
	begun := make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		m := pauseLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		ns, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		us, key := clock.NS(ns)/1000, m[3]+m[4]
		if m[2] != "" {
			begun[key] = us
		} else if from, ok := begun[key]; ok {
			pauses = append(pauses, collection{from, us})
			delete(begun, key)
		}
	}
	for _, from := range begun {
		pauses = append(pauses, collection{from, math.MaxInt64}) // still running
	}
	return pauses
}

// runtimeCycles returns the GC cycles of a process that were sent, sorted by time.
func (o *observer) runtimeCycles(process string) (events []*ingestpb.Event) {
	o.each(func(b *ingestpb.Batch) {
		for _, event := range b.Events {
			if event.Kind == "gc.cycle" && b.Resources[event.Resource].Key == process {
				events = append(events, event)
			}
		}
	})
	slices.SortFunc(events, func(a, b *ingestpb.Event) int { return int(a.StartUs - b.StartUs) })
	return events
}

// within is the time in a span during which at least one collection ran.
func within(all []collection, fromUS, untilUS int64) (spentUS float64) {
	all = slices.SortedFunc(slices.Values(all), func(a, b collection) int { return cmp.Compare(a.beginUS, b.beginUS) })
	for _, c := range all {
		fromUS = max(fromUS, c.beginUS)
		if until := min(c.endUS, untilUS); until > fromUS {
			spentUS += float64(until - fromUS)
			fromUS = until
		}
	}
	return spentUS
}

// afterRunning is the begin of the first tick after the one at fromUS at whose begin no collection runs: the process was
// found in that one, and of what ran then, only the rest may be known.
func afterRunning(all []collection, fromUS int64) int64 {
	for fromUS += 100_000; ; {
		at := slices.IndexFunc(all, func(c collection) bool { return c.beginUS < fromUS && c.endUS >= fromUS })
		if at < 0 {
			return fromUS
		}
		fromUS += (all[at].endUS - fromUS + 100_000) / 100_000 * 100_000
	}
}

// agreeWithLog compares what was recorded for a process with its own log.
func agreeWithLog(t *testing.T, o *observer, process string, logged []collection, medianUS float64) {
	t.Helper()
	grid := o.series(process, catalogue.GCCycles)
	if len(grid) == 0 {
		t.Fatal("nothing on the grid")
	}
	fromUS, untilUS := afterRunning(logged, grid[0].startUS), grid[len(grid)-1].startUS+100_000
	spentUS := within(logged, fromUS, untilUS)
	onEdge := 0.0 // of the grid: in or out by less than the clock error
	for _, c := range logged {
		if math.Abs(float64(c.endUS-fromUS)) < 2000 || math.Abs(float64(c.endUS-untilUS)) < 2000 {
			onEdge++
		}
	}
	logged = slices.DeleteFunc(logged, func(c collection) bool { return c.endUS < fromUS || c.endUS >= untilUS })
	events := slices.DeleteFunc(o.runtimeCycles(process), func(e *ingestpb.Event) bool {
		end := e.StartUs + int64(e.DurationUs)
		return end < fromUS || end >= untilUS
	})
	total := func(metric uint32) float64 { return o.sum(process, metric, time.UnixMicro(fromUS)) }
	if cycles := total(catalogue.GCCycles); len(logged) < 5 || math.Abs(cycles-float64(len(logged))) > onEdge {
		t.Errorf("%v cycles on the grid, the program says %d", cycles, len(logged))
	}
	// Of several collections between two ticks only the last ones have a known time.
	if len(events) > len(logged) || len(events) < len(logged)*3/4 {
		t.Errorf("%d events, the program says %d", len(events), len(logged))
	}
	var errors []float64
	for _, event := range events {
		best := math.Inf(1)
		for _, c := range logged {
			begin, end := math.Abs(float64(event.StartUs-c.beginUS)), math.Abs(float64(event.StartUs+int64(event.DurationUs)-c.endUS))
			best = min(best, max(begin, end))
		}
		errors = append(errors, best)
	}
	slices.Sort(errors)
	if len(errors) == 0 {
		t.Fatal("no events")
	}
	median, worst := errors[len(errors)/2], errors[len(errors)-1]
	active := total(catalogue.GCActiveUS)
	t.Logf("%d collections, %d events, begin and end within %.2f ms (median) and %.2f ms (worst); %.1f ms on the grid, %.1f ms logged",
		len(logged), len(events), median/1000, worst/1000, active/1000, spentUS/1000)
	if median > medianUS {
		t.Errorf("half of the collections lie %.0f us or more from where the program has them", median)
	}
	// On a busy machine, a program can lose the CPU between a collection and its own look at the clock.
	lostUS := 0.0
	for _, one := range errors[max(0, len(errors)-3):] {
		lostUS += one
	}
	if math.Abs(active-spentUS) > 0.1*spentUS+2000+lostUS {
		t.Errorf("%.0f us on the grid, the program says %.0f us", active, spentUS)
	}
}

func TestCollectionsOfJVM(t *testing.T) {
	for _, collector := range []string{"Parallel", "G1", "Serial"} {
		t.Run(collector, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "gc.log")
			path := startJVM(t, nil, "-Xmx256m", "-Xmn24m", "-XX:ActiveProcessorCount=2", "-XX:+Use"+collector+"GC", "-Xlog:gc*:file="+log+":timenanos,tags")
			o := observe(t, "jvm_gc,process,cgroup_cpu")
			process := ""
			waitFor(t, "the JVM is known", func() bool {
				process = o.childOf(path)
				return process != "" && o.fact(process, "runtime.gc_source") != ""
			})
			waitFor(t, "it collects", func() bool { return len(o.runtimeCycles(process)) >= 20 })
			o.stop()
			agreeWithLog(t, o, process, loggedPauses(t, log), 1000)
			for name, want := range map[string]string{
				"runtime.name": "jvm", "runtime.gc_source": "hsperfdata", "runtime.cpus": "2",
				"runtime.options": fmt.Sprintf(`["-Xmx256m","-Xmn24m","-XX:ActiveProcessorCount=2","-XX:+Use%sGC"]`, collector),
			} {
				if got := o.fact(process, name); got != want {
					t.Errorf("%s is %q", name, got)
				}
			}
			if kind := o.fact(process, "runtime.gc_kind"); !strings.Contains(kind, collector+" young collection pauses") {
				t.Errorf("collectors %q", kind)
			}
			if version := o.fact(process, "runtime.version"); !regexp.MustCompile(`^\d+`).MatchString(version) {
				t.Errorf("version %q", version)
			}
			for _, event := range o.runtimeCycles(process) {
				if event.Attributes["pause_us"] != fmt.Sprint(event.DurationUs) || event.Attributes["collector"] == "" || event.Attributes["source"] != "hsperfdata" {
					t.Errorf("event %v", event)
				}
			}
			live, goal := o.last(process, catalogue.HeapLiveBytes), o.last(process, catalogue.HeapGoalBytes)
			if live < 10<<20 || goal <= live || goal > 300<<20 {
				t.Errorf("the heap holds %v, the next collection begins at %v", live, goal)
			}
		})
	}
}

func TestJVMThatSharesNothing(t *testing.T) {
	t.Parallel()
	path := startJVM(t, nil, "-Xmx200m", "-XX:-UsePerfData")
	o := observe(t, "jvm_gc,process,cgroup_cpu")
	process := ""
	waitFor(t, "the JVM is known", func() bool {
		process = o.childOf(path)
		return process != "" && o.fact(process, "runtime.name") == "jvm"
	})
	if got := o.fact(process, "runtime.options"); got != `["-Xmx200m","-XX:-UsePerfData"]` {
		t.Errorf("options %s", got)
	}
	if source := o.fact(process, "runtime.gc_source"); source != "" || len(o.series(process, catalogue.GCCycles)) > 0 {
		t.Errorf("collections are taken from %q", source)
	}
	for _, status := range o.agent.Engine.Status() {
		if status.Name == "jvm_gc" && !strings.Contains(status.Detail, "so that their collections are not known: 1") {
			t.Errorf("status %v", status)
		}
	}
}

// TestJVMInAContainer: its PID differs there, and so does its /tmp.
func TestJVMInAContainer(t *testing.T) {
	t.Parallel()
	log := filepath.Join(varTmp(t), "gc.log")
	wrap := []string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", `mount -t tmpfs none /tmp && exec "$0" "$@"`}
	if out, err := exec.Command(wrap[0], append(slices.Clone(wrap[1:]), "true")...).CombinedOutput(); err != nil {
		testenv.Skip(t, "needs the right to make namespaces: %v: %s", err, out)
	}
	path := startJVM(t, wrap, "-Xmx256m", "-Xmn24m", "-XX:+UseParallelGC", "-Xlog:gc*:file="+log+":timenanos,tags")
	o := observe(t, "jvm_gc,process,cgroup_cpu")
	process := ""
	waitFor(t, "the JVM is known", func() bool {
		process = o.withFact(path, "runtime.gc_source") // unshare is there as well
		return process != ""
	})
	waitFor(t, "it collects", func() bool { return len(o.runtimeCycles(process)) >= 20 })
	o.stop()
	agreeWithLog(t, o, process, loggedPauses(t, log), 1000)
}
