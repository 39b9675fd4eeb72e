package livetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// collecting runs a script that makes garbage, in a cgroup with a limit, and observes it until it has collected some times. own reads what it
// says itself: the kind of each collection and when it began and ended.
func collecting(t *testing.T, source, interpreter string, arguments []string, script string) (o *observer, process string, own map[string][]collection) {
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
	waitFor(t, "it collects", func() bool { return len(o.runtimeCycles(process)) >= 20 }, func() string { return fmt.Sprint(o.agent.Engine.Status()) })
	o.stop()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	own = make(map[string][]collection)
	for line := range strings.Lines(string(text)) {
		var kind string
		var c collection
		if _, err := fmt.Sscan(line, &kind, &c.beginUS, &c.endUS); err == nil {
			own[kind] = append(own[kind], c)
		}
	}
	return o, process, own
}

func TestCollectionsOfNode(t *testing.T) {
	t.Parallel()
	o, process, own := collecting(t, "nodejs_gc", "node", []string{"--max_old_space_size=300", "--expose-gc", "--no-warnings"}, "collecting.js")
	// performance.constants.NODE_PERFORMANCE_GC_*: 1 minor, 4 major; the begin of incremental marking and callbacks are no collections.
	agreeWithLog(t, o, process, append(own["1"], own["4"]...), 1000)
	for name, want := range map[string]string{
		"runtime.name": "nodejs", "runtime.gc_source": "uprobe", "runtime.options": `["--max-old-space-size=300","--expose-gc"]`,
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

func TestCollectionsOfPython(t *testing.T) {
	t.Parallel()
	o, process, own := collecting(t, "python_gc", "/usr/bin/python3", nil, "collecting.py")
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
