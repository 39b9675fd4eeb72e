package livetest

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// cycles returns the GC cycles of a process that were sent, by source.
func (o *observer) cycles(process string) map[string][]*ingestpb.Event {
	bySource := make(map[string][]*ingestpb.Event)
	o.each(func(b *ingestpb.Batch) {
		for _, event := range b.Events {
			if event.Kind == "go.gc_cycle" && b.Resources[event.Resource].Key == process {
				source := event.Attributes["source"]
				bySource[source] = append(bySource[source], event)
			}
		}
	})
	return bySource
}

// busyCoreDNS observes a CoreDNS under load that has frequent GC cycles.
func busyCoreDNS(t *testing.T, configuration string) (o *observer, process string) {
	t.Helper()
	directory, path := cgroupFor(t, 200_000)
	server := freeAddress(t, "127.0.0.1")
	startCoreDNS(t, directory, server, 1000, "GOMAXPROCS=2", "GOGC=5")
	config := filepath.Join(t.TempDir(), "collector.toml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	o = observe(t, "go_runtime,process,cgroup_cpu", "-config", config)
	waitFor(t, "the process is known", func() bool {
		process = o.childOf(path)
		return process != ""
	})
	waitFor(t, "a source of collections is found", func() bool { return o.fact(process, "go.gc_source") != "" })
	for range 40 {
		flood(t, server, 100)
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(1500 * time.Millisecond)
	o.stop()
	return o, process
}

// childOf returns the key of a process below a cgroup.
func (o *observer) childOf(cgroup string) (key string) {
	o.each(func(b *ingestpb.Batch) {
		for _, resource := range b.Resources {
			if resource.Kind == ingestpb.ResourceKind_RESOURCE_KIND_PROCESS && b.Resources[resource.Parent].Key == cgroup {
				key = resource.Key
			}
		}
	})
	return key
}

func TestCollectionsByProbe(t *testing.T) {
	t.Parallel()
	o, process := busyCoreDNS(t, "")
	o.needs("go_runtime")
	if source := o.fact(process, "go.gc_source"); source != "uprobe" {
		testenv.Skip(t, "collections are taken from %s", source)
	}
	grid := o.series(process, catalogue.GCCycles)
	// The tick in which the probes were attached is incomplete and not on the grid.
	events := slices.DeleteFunc(o.cycles(process)["uprobe"], func(e *ingestpb.Event) bool {
		return len(grid) == 0 || e.StartUs+int64(e.DurationUs) < grid[0].startUS
	})
	early := 0.0 // of cycles that began before the grid
	for _, event := range events {
		early += max(0, float64(grid[0].startUS-event.StartUs))
	}
	sum := func(metric uint32) float64 { return o.sum(process, metric, time.Time{}.Add(time.Hour)) }
	if cycles := sum(catalogue.GCCycles); len(events) < 5 || cycles != float64(len(events)) {
		t.Errorf("%d events, %v cycles on the grid", len(events), cycles)
	}
	duration := 0.0
	for _, event := range events {
		duration += float64(event.DurationUs)
	}
	if active := sum(catalogue.GCActiveUS) + early; math.Abs(active-duration) > 0.02*duration+1000 {
		t.Errorf("the events last %v us together, the grid has %v us", duration, active)
	}
	if pause := sum(catalogue.GCPauseUS); pause <= 0 || pause > duration {
		t.Errorf("paused for %v of %v us", pause, duration)
	}
}

func TestCollectionsByMetricsPage(t *testing.T) {
	t.Parallel()
	o, process := busyCoreDNS(t, "[sources.go_runtime]\nprobes = false\n")
	if source := o.fact(process, "go.gc_source"); source != "metrics" {
		t.Fatalf("collections are taken from %q", source)
	}
	events := o.cycles(process)
	if len(events["metrics"]) == 0 || len(events) != 1 {
		t.Errorf("events by source: %v", events)
	}
	if cycles := o.sum(process, catalogue.GCCycles, time.Time{}.Add(time.Hour)); cycles < float64(len(events["metrics"])) {
		t.Errorf("%d events, %v cycles on the grid", len(events["metrics"]), cycles)
	}
	for _, status := range o.agent.Engine.Status() {
		if status.Name == "go_runtime" && (status.State != ingestpb.SourceState_SOURCE_STATE_DEGRADED || !strings.Contains(status.Detail, "probes")) {
			t.Errorf("status %v", status)
		}
	}
}
