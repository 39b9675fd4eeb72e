package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	podUID      = "9118fc9a-5622-43c2-a6a9-ea0a582ea247"
	containerID = "0c8cd1b2ec1d8877d7a6a412759d20646f39aec47ff5e3bfd6cfe96f7c9bcfff"
	captures    = "../../internal/cgroup/testdata/"
)

// groups are the cgroups of the fixture.
var groups = []string{
	"/kubepods", "/kubepods/burstable", "/kubepods/burstable/pod" + podUID, "/kubepods/burstable/pod" + podUID + "/" + containerID,
	"/system.slice", "/system.slice/nginx.service",
}

// goldens runs the built binary over fixture /proc and /sys/fs/cgroup trees captured on real systems, changes some
// counters while it runs, and compares everything it would send with a golden file.
func goldens(t *testing.T, program []string) {
	for _, version := range []string{"v1-linux-6.18", "v2-linux-6.1"} {
		t.Run(version, func(t *testing.T) { compareWithGolden(t, version, *update, program, dumped) })
	}
	// What a server receives, decoded here: encoded by the binary, perhaps on another architecture.
	t.Run("shipped", func(t *testing.T) { compareWithGolden(t, "v2-linux-6.1", false, program, shipped) })
}

// produce runs the program for some seconds with these options, calls onStart once it runs, and returns its batches.
type produce func(t *testing.T, program []string, seconds float64, onStart func(), options ...string) []*ingestpb.Batch

func compareWithGolden(t *testing.T, version string, update bool, program []string, batches produce) {
	golden := filepath.Join("testdata", version+".golden")
	var got string
	// Some counters are read once a second: with too little CPU time a short run reads them only once, which yields no
	// difference yet.
	for _, seconds := range []float64{2.5, 5, 10} {
		root := t.TempDir()
		makeProc(t, filepath.Join(root, "proc"))
		container := makeCgroups(t, filepath.Join(root, "cgroup"), version)
		// Whatever provides container names on the test machine is not part of the fixture.
		config := filepath.Join(root, "collector.toml")
		write(t, config, "[sources.names]\nkubelet = \"off\"\ndocker_socket = \"\"\ncri_sockets = []\n")
		got = summarize(batches(t, program, seconds, func() {
			time.Sleep(time.Duration(seconds / 2 * float64(time.Second)))
			moveCounters(t, container, version)
		}, "--cgroup-root", filepath.Join(root, "cgroup"), "--proc-root", filepath.Join(root, "proc"), "--config", config,
			"--real-time=false", "--sources", "cgroup_cpu,cgroup_memory,cgroup_pids,psi,host_cpu,names,self"))
		if update {
			write(t, golden, got)
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got == string(want) {
			return
		}
	}
	t.Errorf("the output differs from %s (go test -update writes it anew); got:\n%s", golden, got)
}

// dumped returns the batches that `dump` prints.
func dumped(t *testing.T, program []string, seconds float64, onStart func(), options ...string) []*ingestpb.Batch {
	t.Helper()
	command, stdout, stderr := prepare(program, append([]string{"dump", "--seconds", fmt.Sprint(seconds)}, options...)...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	onStart()
	if err := command.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var batches []*ingestpb.Batch
	for line := range bytes.Lines(stdout.Bytes()) {
		b := &ingestpb.Batch{}
		if err := protojson.Unmarshal(line, b); err != nil {
			t.Fatal(err)
		}
		batches = append(batches, b)
	}
	return batches
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func makeProc(t *testing.T, proc string) {
	t.Helper()
	for name, from := range map[string]string{
		"stat": "stat", "loadavg": "loadavg", "pressure/cpu": "pressure_cpu", "pressure/memory": "pressure_memory", "pressure/io": "pressure_io",
	} {
		text, err := os.ReadFile("../../internal/procfs/testdata/linux-6.18/" + from)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(proc, name), string(text))
	}
	write(t, filepath.Join(proc, "meminfo"), "MemTotal:       24684100 kB\nMemFree:        1 kB\n")
	write(t, filepath.Join(proc, "1/root/etc/os-release"), "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n")
	write(t, filepath.Join(proc, "1/root/etc/machine-id"), "0123456789abcdef0123456789abcdef\n")
}

// makeCgroups gives every cgroup the captured files and returns where the container's cpu.stat is.
func makeCgroups(t *testing.T, root, version string) string {
	t.Helper()
	files, err := filepath.Glob(captures + version + "/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, group := range append([]string{""}, groups...) {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			controller := ""
			if strings.HasPrefix(version, "v1") {
				controller, _, _ = strings.Cut(filepath.Base(file), ".")
			}
			directory := filepath.Join(root, controller, group)
			write(t, filepath.Join(directory, filepath.Base(file)), string(text))
			write(t, filepath.Join(directory, "cgroup.procs"), "")
		}
	}
	if strings.HasPrefix(version, "v2") {
		write(t, filepath.Join(root, "cgroup.controllers"), "cpu memory pids\n")
		return filepath.Join(root, groups[3], "cpu.stat")
	}
	return filepath.Join(root, "cpu", groups[3], "cpu.stat")
}

// moveCounters makes the container throttled in two more periods. It is one write of the same length, so a reader sees
// either the old or the new content.
func moveCounters(t *testing.T, path, version string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	replacements := []string{"nr_periods 27", "nr_periods 29", "nr_throttled 22", "nr_throttled 24", "662079048", "782079048"}
	if strings.HasPrefix(version, "v2") {
		replacements = []string{"usage_usec 3219703", "usage_usec 3259703", "nr_periods 165", "nr_periods 167", "nr_throttled 160", "nr_throttled 162"}
	}
	changed := strings.NewReplacer(replacements...).Replace(string(text))
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteAt([]byte(changed), 0); err != nil || len(changed) != len(text) {
		t.Fatalf("%v, %d of %d bytes", err, len(changed), len(text))
	}
}

// varying are series and facts that differ between runs or machines; only their presence is compared.
var varying = map[string]bool{
	"collector_lateness_us": true, "collector_cpu_us": true, "collector_rss_bytes": true, "collector_tick": true,
	"node.hostname": true, "node.kernel": true,
}

// summarize writes each fact, trigger reason, event and source, and for each series the sum of its deltas or the last
// value of its gauge.
func summarize(batches []*ingestpb.Batch) string {
	metrics := make(map[uint32]catalogue.Metric)
	for _, metric := range catalogue.All {
		metrics[metric.ID] = metric
	}
	lines := make(map[string]string)
	sums := make(map[string]float64)
	for _, b := range batches {
		name := func(i uint32) string { return fmt.Sprint(b.Resources[i].Kind, " ", b.Resources[i].Key) }
		for _, fact := range b.Facts {
			value := fact.Value
			if varying[fact.Name] {
				value = "…"
			}
			lines[fmt.Sprintf("fact %s %s", name(fact.Resource), fact.Name)] = value
		}
		for _, event := range b.Events {
			lines[fmt.Sprintf("event %s %s", name(event.Resource), event.Kind)] = fmt.Sprint(event.Attributes)
		}
		for _, trigger := range b.Triggers {
			if trigger.Reason != "late_tick" { // caused by a busy machine
				lines[fmt.Sprintf("trigger %s %s", name(trigger.Resource), trigger.Reason)] = ""
			}
		}
		for _, source := range b.Sources {
			lines["source "+source.Name] = fmt.Sprint(source.State, " ", source.Detail)
		}
		for _, block := range b.Blocks {
			if block.StepUs != 100_000 {
				continue // whether the zoom is on depends on timing
			}
			eachValue(block, func(i int, value float64) {
				metric := metrics[block.Metric[i]]
				key := fmt.Sprintf("series %s %s", name(block.Resource[i]), metric.Name)
				if metric.Kind == catalogue.Delta {
					sums[key] += value
					value = sums[key]
				}
				lines[key] = fmt.Sprint(value)
				if varying[metric.Name] {
					lines[key] = "…"
				}
			})
		}
	}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&text, "%s: %s\n", key, lines[key])
	}
	return text.String()
}

func eachValue(block *ingestpb.SeriesBlock, visit func(series int, value float64)) {
	for i := range len(block.Resource) * int(block.TickCount) {
		if value := sourcetest.ValueAt(block, i); !math.IsNaN(value) {
			visit(i/int(block.TickCount), value)
		}
	}
}
