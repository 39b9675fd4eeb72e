package livetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

func TestCollectionsOfRuby(t *testing.T) {
	t.Parallel()
	o, process, own := collecting(t, "ruby_gc", "ruby", nil, "collecting.rb", "minor", func(events []*ingestpb.Event) bool {
		return len(events) >= 20
	})
	agreeWithLog(t, o, process, append(own["minor"], own["full"]...), 1000)
	for name, want := range map[string]string{"runtime.name": "ruby", "runtime.gc_source": "usdt", "runtime.gc_marking": "observed"} {
		if got := o.fact(process, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	version, err := exec.Command("ruby", "-e", "print RUBY_VERSION").Output()
	if got := o.fact(process, "runtime.version"); err != nil || got != string(version) {
		t.Errorf("version %q, it is %s", got, version)
	}
}

// TestRubyThatCollectsByItself: it marks its whole heap in steps while the program runs.
func TestRubyThatCollectsByItself(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("ruby")
	if err != nil {
		testenv.Skip(t, "needs ruby: %v", err)
	}
	begin, counts := filepath.Join(t.TempDir(), "begin"), filepath.Join(t.TempDir(), "counts")
	directory, path := cgroupFor(t, 150_000)
	startServer(t, inCgroup(directory), program, "testdata/collecting/allocating.rb", begin, counts)
	o := observe(t, "ruby_gc,process,cgroup_cpu")
	o.needs("ruby_gc")
	process := ""
	waitFor(t, "the process is probed", func() bool {
		process = o.childOf(path)
		return process != "" && o.fact(process, "runtime.gc_marking") != "" && len(o.series(process, catalogue.GCCycles)) > 0
	})
	if err := os.WriteFile(begin, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var all, full float64
	waitFor(t, "it has collected its whole heap three times", func() bool {
		text, _ := os.ReadFile(counts)
		_, err := fmt.Sscan(string(text), &all, &full)
		return err == nil
	})
	total := func(metric uint32) float64 { return o.sum(process, metric, time.Time{}.Add(time.Hour)) }
	waitFor(t, "all collections are known", func() bool { return total(catalogue.GCCycles) >= all })
	o.stop()
	if cycles := total(catalogue.GCCycles); cycles != all {
		t.Errorf("%v cycles on the grid, it says %v", cycles, all)
	}
	events, inSteps := o.runtimeCycles(process), 0.0
	for _, event := range events {
		markingUS, _ := strconv.ParseInt(event.Attributes["marking_us"], 10, 64)
		pauseUS, _ := strconv.ParseInt(event.Attributes["pause_us"], 10, 64)
		if markingUS > 0 {
			inSteps++
		}
		if pauseUS <= 0 || markingUS+pauseUS != int64(event.DurationUs) {
			t.Errorf("a cycle of %d us: %v", event.DurationUs, event.Attributes)
		}
	}
	if float64(len(events)) != all || inSteps == 0 || inSteps > full {
		t.Errorf("%d events for %v cycles, %v of them marked in steps, %v full", len(events), all, inSteps, full)
	}
	if pause, active := total(catalogue.GCPauseUS), total(catalogue.GCActiveUS); pause <= 0 || active < pause {
		t.Errorf("active for %v us, paused for %v us", active, pause)
	}
}
