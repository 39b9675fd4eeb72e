package hsperf

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"
)

// capture reads a file copied from a real JVM; see testdata/README.md.
func capture(t testing.TB, name string) ([]byte, *Layout) {
	t.Helper()
	data, err := os.ReadFile("testdata/openjdk-17-" + name + ".hsperfdata")
	if err != nil {
		t.Fatal(err)
	}
	layout, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return data, layout
}

func TestParse(t *testing.T) {
	data, layout := capture(t, "g1")
	if got := layout.Version(data); got != "17.0.15" {
		t.Errorf("version %q", got)
	}
	if got := Governing(layout.Arguments(data)); !slices.Equal(got, []string{"-Xmx1500m", "-XX:+UseG1GC"}) {
		t.Errorf("options %q", got)
	}
	if got := layout.Number("sun.os.hrt.frequency").In(data); got != 1_000_000_000 {
		t.Errorf("frequency %d", got)
	}
	if missing := layout.Number("sun.gc.nothing"); missing.Known() || missing.In(data) != 0 || layout.Text(data, "sun.gc.nothing") != "" {
		t.Error("a value that is not there was found")
	}
	if layout.Used() >= len(data) || layout.Used() < 10_000 {
		t.Errorf("%d of %d bytes are used", layout.Used(), len(data))
	}
}

func TestCollectors(t *testing.T) {
	for name, want := range map[string][]string{
		"serial":   {"Serial young collection pauses", "Serial full collection pauses"},
		"parallel": {"Parallel young collection pauses", "Parallel full collection pauses"},
		"g1":       {"G1 young collection pauses", "G1 full collection pauses", "G1 concurrent cycle pauses"},
	} {
		data, layout := capture(t, name)
		pausing, others := layout.Collectors(data)
		var got []string
		for _, collector := range pausing {
			got = append(got, collector.Name)
		}
		if !slices.Equal(got, want) || len(others) > 0 {
			t.Errorf("%s: %q, others %q", name, got, others)
		}
		heap := layout.Heap(data)
		if live, goal, ok := heap.Live(data); !ok || live <= 0 || goal <= live {
			t.Errorf("%s: live %d, goal %d", name, live, goal)
		}
	}
	data, layout := capture(t, "z")
	heap := layout.Heap(data)
	if live, _, ok := heap.Live(data); ok {
		t.Errorf("a heap without generations holds %d", live)
	}
	for name, want := range map[string]bool{"Shenandoah full": false, "PSScavenge": true, "Z concurrent cycle pauses": true, "Epsilon": false} {
		if pauses(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// jvm changes the numbers of a captured file as the JVM does.
type jvm struct {
	data      []byte
	layout    *Layout
	collector *Collector
}

func newJVM(t testing.TB) *jvm {
	data, layout := capture(t, "parallel")
	j := &jvm{data: data, layout: layout}
	pausing, _ := layout.Collectors(data)
	j.collector = pausing[0]
	j.set(0, 0, 0, 0)
	if step := j.collector.Read(j.data); step != (Step{}) {
		t.Fatalf("at first %+v", step)
	}
	return j
}

func (j *jvm) put(n Number, value int64) { binary.LittleEndian.PutUint64(j.data[n.at:], uint64(value)) }

func (j *jvm) set(invocations, time, entry, exit int64) {
	c := j.collector
	j.put(c.invocations, invocations)
	j.put(c.time, time)
	j.put(c.entry, entry)
	j.put(c.exit, exit)
}

func TestSteps(t *testing.T) {
	type values struct{ invocations, time, entry, exit int64 }
	for name, one := range map[string]struct {
		before, now values
		want        Step
	}{
		"nothing":             {values{1, 5, 10, 15}, values{1, 5, 10, 15}, Step{}},
		"one":                 {values{1, 5, 10, 15}, values{2, 12, 20, 27}, Step{Whole: Span{20, 27}}},
		"one begins":          {values{1, 5, 10, 15}, values{2, 5, 20, 15}, Step{Begun: 20}},
		"one goes on":         {values{2, 5, 20, 15}, values{2, 5, 20, 15}, Step{}},
		"one ends":            {values{2, 5, 20, 15}, values{2, 14, 20, 29}, Step{Ended: Span{20, 29}}},
		"one ends, one more":  {values{2, 5, 20, 15}, values{3, 17, 40, 43}, Step{Ended: Span{20, 29}, Whole: Span{40, 43}}},
		"one ends, one runs":  {values{2, 5, 20, 15}, values{3, 14, 40, 29}, Step{Ended: Span{20, 29}, Begun: 40}},
		"one and one runs":    {values{1, 5, 10, 15}, values{3, 12, 40, 27}, Step{Whole: Span{20, 27}, Begun: 40}},
		"three":               {values{1, 5, 10, 15}, values{4, 17, 60, 64}, Step{Whole: Span{60, 64}, Loose: 2, LooseTicks: 8}},
		"one ends, two more":  {values{2, 5, 20, 15}, values{4, 20, 60, 64}, Step{Whole: Span{60, 64}, Over: true, Loose: 2, LooseTicks: 11}},
		"two and one runs":    {values{1, 5, 10, 15}, values{4, 12, 60, 50}, Step{Begun: 60, Loose: 2, LooseTicks: 7}},
		"counted, not begun":  {values{1, 5, 10, 15}, values{2, 5, 10, 15}, Step{}},
		"ended, time to come": {values{2, 5, 20, 15}, values{2, 5, 20, 29}, Step{Ended: Span{20, 29}}},
	} {
		j := newJVM(t)
		j.set(one.before.invocations, one.before.time, one.before.entry, one.before.exit)
		j.collector.Read(j.data)
		j.set(one.now.invocations, one.now.time, one.now.entry, one.now.exit)
		if got := j.collector.Read(j.data); got != one.want {
			t.Errorf("%s: %+v, want %+v", name, got, one.want)
		}
	}
}

func TestStepIsSeenThoughItWasCountedBefore(t *testing.T) {
	j := newJVM(t)
	j.set(1, 0, 0, 0) // counted; its begin is recorded a moment later
	if got := j.collector.Read(j.data); got != (Step{}) {
		t.Errorf("%+v", got)
	}
	j.set(1, 7, 20, 27)
	if got := j.collector.Read(j.data); got != (Step{Whole: Span{20, 27}}) {
		t.Errorf("%+v", got)
	}
	if allocations := testing.AllocsPerRun(10, func() { j.collector.Read(j.data) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestClock(t *testing.T) {
	data, layout := capture(t, "g1")
	clock := layout.Clock(data)
	if clock.Look(data, 5_000); clock.Known() {
		t.Error("the value that was there already bounds nothing")
	}
	set := func(ticks int64) { binary.LittleEndian.PutUint64(data[clock.ticks.at:], uint64(ticks)) }
	set(1_000)
	if !clock.Look(data, 9_300) || clock.NS(0) != 8_300 {
		t.Errorf("start %d", clock.NS(0))
	}
	set(51_000)
	clock.Look(data, 59_100) // seen earlier
	set(101_000)
	clock.Look(data, 109_900) // seen late
	if clock.NS(0) != 8_100 || clock.NS(200) != 8_300 {
		t.Errorf("start %d", clock.NS(0))
	}
	clock.frequency = 1_000_000
	if clock.NS(3) != 8_100+3_000 || clock.US(7) != 7 {
		t.Errorf("%d, %d", clock.NS(3), clock.US(7))
	}
}

func TestCommandLine(t *testing.T) {
	cmdline := "java\x00-Xmx1g\x00-cp\x00-Xmx9g\x00-XX:ParallelGCThreads=2\x00-Dpassword=x\x00-XX:OnOutOfMemoryError=rm\x00Main\x00-Xmx3g\x00"
	environ := "HOME=/\x00_JAVA_OPTIONS=-Xms64m\x00JAVA_TOOL_OPTIONS=-XX:+UseZGC -Dsecret=y\x00"
	want := []string{"-XX:+UseZGC", "-Xmx1g", "-XX:ParallelGCThreads=2", "-Xms64m"}
	if got := Governing(CommandLine([]byte(cmdline), []byte(environ))); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Governing(CommandLine([]byte("java\x00-jar\x00-Xmx2g\x00-Xmx3g\x00"), nil)); got != nil {
		t.Errorf("%q", got)
	}
	if got := Processors([]string{"-XX:ActiveProcessorCount=4", "-Xmx1g", "-XX:ActiveProcessorCount=2"}); got != "2" {
		t.Errorf("%q CPUs", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"serial", "parallel", "g1", "z"} {
		data, _ := capture(f, name)
		f.Add(data)
	}
	f.Add([]byte("\xca\xfe\xc0\xc0\x00\x02\x00\x01"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		layout, err := Parse(data)
		if err != nil {
			return
		}
		pausing, _ := layout.Collectors(data)
		for _, collector := range pausing {
			collector.Read(data)
		}
		heap := layout.Heap(data)
		heap.Live(data)
		clock := layout.Clock(data)
		clock.Look(data, 1)
		layout.Arguments(data)
		layout.Version(data)
	})
}
