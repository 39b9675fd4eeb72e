package livetest

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// collecting runs a script that produces garbage, in a cgroup with a limit, and observes it until it has run enough GC
// cycles. own is what the script itself reports: the kind of each cycle and when it began and ended, in the order of
// their ends, and with everything that had begun when the observation stopped: for that, it has to report one of kind
// last that ended later.
func collecting(
	t *testing.T, source, interpreter string, arguments []string, script, last string, enough func([]*ingestpb.Event) bool,
) (o *observer, process string, own map[string][]collection) {
	t.Helper()
	program, err := exec.LookPath(interpreter)
	if err != nil {
		testenv.Skip(t, "needs %s: %v", interpreter, err)
	}
	log := filepath.Join(t.TempDir(), "collections")
	directory, path := cgroupFor(t, 150_000)
	startServer(t, inCgroup(directory), program, append(append([]string{}, arguments...), "testdata/collecting/"+script, log)...)
	o = observe(t, source+",process,cgroup_cpu")
	o.needs(source)
	waitFor(t, "the process is known", func() bool {
		process = o.childOf(path)
		return process != "" && o.fact(process, "runtime.name") != ""
	})
	waitFor(t, "it collects", func() bool { return enough(o.runtimeCycles(process)) }, func() string { return fmt.Sprint(o.agent.Engine.Status()) })
	o.stop()
	stoppedUS := time.Now().UnixMicro()
	waitFor(t, "it has reported what was observed", func() bool {
		own = reported(t, log)
		return slices.ContainsFunc(own[last], func(c collection) bool { return c.endUS > stoppedUS })
	})
	return o, process, own
}

// reported reads what a script has written so far, a line for each collection.
func reported(t *testing.T, log string) map[string][]collection {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	own := make(map[string][]collection)
	for line := range strings.Lines(string(text)) {
		var kind string
		var c collection
		if _, err := fmt.Sscan(line, &kind, &c.beginUS, &c.endUS); err == nil && strings.HasSuffix(line, "\n") {
			own[kind] = append(own[kind], c)
		}
	}
	return own
}

// cyclesOfNode joins what perf_hooks reports (performance.constants.NODE_PERFORMANCE_GC_*: 1 minor, 4 major, 8 the
// start of incremental marking): a mark-compact begins with its marking, if that began before.
func cyclesOfNode(own map[string][]collection) (all []collection) {
	all = append(all, own["1"]...)
	last := int64(0)
	for _, major := range own["4"] {
		cycle := major
		for _, marking := range own["8"] {
			if marking.beginUS > last && marking.beginUS < major.beginUS {
				cycle.beginUS = min(cycle.beginUS, marking.beginUS)
			}
		}
		all, last = append(all, cycle), major.endUS
	}
	return all
}

func TestCollectionsOfNode(t *testing.T) {
	t.Parallel()
	arguments := []string{"--max_old_space_size=300", "--expose-gc", "--no-warnings"}
	marked := func(events []*ingestpb.Event) (some []*ingestpb.Event) {
		return slices.DeleteFunc(slices.Clone(events), func(e *ingestpb.Event) bool { return e.Attributes["marking_us"] == "" })
	}
	o, process, own := collecting(t, "nodejs_gc", "node", arguments, "collecting.js", "4", func(events []*ingestpb.Event) bool {
		return len(events) >= 20 && len(marked(events)) >= 3
	})
	agreeWithLog(t, o, process, cyclesOfNode(own), 1000)
	for _, event := range marked(o.runtimeCycles(process)) {
		markingUS, _ := strconv.ParseInt(event.Attributes["marking_us"], 10, 64)
		pauseUS, _ := strconv.ParseInt(event.Attributes["pause_us"], 10, 64)
		if event.Attributes["collector"] != "mark-sweep-compact" || markingUS+pauseUS != int64(event.DurationUs) {
			t.Errorf("a cycle of %d us: %v", event.DurationUs, event.Attributes)
		}
	}
	paused := append(slices.Clone(own["1"]), own["4"]...)
	grid := o.series(process, catalogue.GCPauseUS)
	fromUS := afterRunning(paused, grid[0].startUS)
	stoppedUS := within(paused, fromUS, grid[len(grid)-1].startUS+100_000)
	if on := o.sum(process, catalogue.GCPauseUS, time.UnixMicro(fromUS)); math.Abs(on-stoppedUS) > 0.1*stoppedUS+2000 {
		t.Errorf("%.0f us of pauses on the grid, the program says %.0f us", on, stoppedUS)
	}
	for name, want := range map[string]string{
		"runtime.name": "nodejs", "runtime.gc_source": "uprobe", "runtime.gc_marking": "observed", "runtime.options": `["--max-old-space-size=300","--expose-gc"]`,
	} {
		if got := o.fact(process, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	version, err := exec.Command("node", "--version").Output()
	if got := o.fact(process, "runtime.version"); err != nil || "v"+got != strings.TrimSpace(string(version)) {
		t.Errorf("version %q, it is %s", got, version)
	}
	scavenges := 0
	for _, event := range o.runtimeCycles(process) {
		if event.Attributes["collector"] == "scavenge" {
			scavenges++
		}
	}
	if scavenges == 0 {
		t.Error("no scavenges")
	}
}

// TestMarkingEndsWithItsWorker: Node.js 20 ends the marking of a terminated worker with a mark-compact; whatever others
// do, no cycle stays open.
func TestMarkingEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("node")
	if err != nil {
		testenv.Skip(t, "needs node: %v", err)
	}
	begin, ended := filepath.Join(t.TempDir(), "begin"), filepath.Join(t.TempDir(), "ended")
	directory, path := cgroupFor(t, 150_000)
	startServer(t, inCgroup(directory), program, "testdata/collecting/terminated.js", begin, ended)
	o := observe(t, "nodejs_gc,process,cgroup_cpu")
	o.needs("nodejs_gc")
	process := ""
	waitFor(t, "the process is probed", func() bool {
		process = o.childOf(path)
		return process != "" && o.fact(process, "runtime.gc_marking") != ""
	})
	if err := os.WriteFile(begin, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "all workers have ended", func() bool {
		_, err := os.Stat(ended)
		return err == nil
	})
	nothing := func() bool {
		points := o.series(process, catalogue.GCActiveUS)
		rest := points[max(0, len(points)-10):]
		return len(points) > 10 && !slices.ContainsFunc(rest, func(p point) bool { return p.value > 0 })
	}
	waitFor(t, "no heap is marked any more", nothing)
	o.stop()
	marked := slices.ContainsFunc(o.runtimeCycles(process), func(e *ingestpb.Event) bool { return e.Attributes["marking_us"] != "" })
	if activeUS := o.sum(process, catalogue.GCActiveUS, time.Time{}.Add(time.Hour)); activeUS == 0 || !marked {
		t.Errorf("%.0f us in cycles, a marking: %v", activeUS, marked)
	}
}

// TestLinkedPythonThatDoesNotRun: a program that links libpython, as unbound does, is not for that reason a Python
// runtime.
func TestLinkedPythonThatDoesNotRun(t *testing.T) {
	t.Parallel()
	libraries, _ := filepath.Glob("/usr/lib/*/libpython3*.so.1.0")
	if len(libraries) == 0 {
		t.Fatal("no libpython: install libpython3-dev (scripts/install_deps.sh)")
	}
	program, source := filepath.Join(t.TempDir(), "resolver"), filepath.Join(t.TempDir(), "resolver.c")
	text := "#include <unistd.h>\nextern void Py_Initialize(void);\nextern int PyRun_SimpleString(const char *);\n" +
		"int main(int count, char **names) { if (write(1, \"ready\\n\", 6) < 0) return 1;\n" +
		"while (access(names[1], F_OK)) usleep(10000); Py_Initialize();\n" +
		"for (;;) PyRun_SimpleString(\"import gc, time; gc.collect(); time.sleep(0.05)\"); }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-Wl,--no-as-needed", source, libraries[0], "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	starts := filepath.Join(t.TempDir(), "starts")
	directory, path := cgroupFor(t, 150_000)
	startServer(t, inCgroup(directory), program, starts)
	o := observe(t, "python_gc,process,cgroup_cpu")
	time.Sleep(4 * time.Second) // it is checked after half a second, and again one second later
	if process := o.childOf(path); process != "" && o.fact(process, "runtime.name") != "" {
		t.Error("a program that runs no Python is called one")
	}
	if err := os.WriteFile(starts, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	process := ""
	waitFor(t, "it runs Python", func() bool {
		process = o.childOf(path)
		return process != "" && o.fact(process, "runtime.name") == "python"
	})
	waitFor(t, "its collections count", func() bool { return o.sum(process, catalogue.GCCycles, time.Time{}.Add(time.Hour)) > 0 })
	o.stop()
}

func TestCollectionsOfPython(t *testing.T) {
	t.Parallel()
	o, process, own := collecting(t, "python_gc", "/usr/bin/python3", nil, "collecting.py", "0", func(events []*ingestpb.Event) bool {
		return len(events) >= 20
	})
	var all []collection
	for _, some := range own {
		all = append(all, some...)
	}
	agreeWithLog(t, o, process, all, 1000)
	for name, want := range map[string]string{"runtime.name": "python", "runtime.gc_source": "usdt"} {
		if got := o.fact(process, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	version, err := exec.Command("/usr/bin/python3", "--version").Output()
	if got := o.fact(process, "runtime.version"); err != nil || "Python "+got != strings.TrimSpace(string(version)) {
		t.Errorf("version %q, it is %s", got, version)
	}
	for generation, some := range own {
		named := 0
		for _, event := range o.runtimeCycles(process) {
			if event.Attributes["collector"] == "generation "+generation {
				named++
			}
		}
		if named == 0 && len(some) > 5 || named > len(some) {
			t.Errorf("%d collections of generation %s, it says %d", named, generation, len(some))
		}
	}
}
