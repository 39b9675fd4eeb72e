package livetest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

const (
	stormVariable, stormRateVariable = "JITTERSCOPE_TEST_STORM", "JITTERSCOPE_TEST_STORM_RATE"
	threadsVariable                  = "JITTERSCOPE_TEST_THREADS"
)

// TestMain is also the program that causes failing lookups, at a rate and for as long as it lives, and the one with
// many threads.
func TestMain(m *testing.M) {
	folder := os.Getenv(stormVariable)
	if threads, err := strconv.Atoi(os.Getenv(threadsVariable)); err == nil {
		testenv.EndWithThreads(threads)
	}
	if folder == "" {
		os.Exit(m.Run())
	}
	rate, err := strconv.Atoi(os.Getenv(stormRateVariable))
	if err != nil {
		os.Exit(2)
	}
	for i := 0; ; {
		began := time.Now()
		for range rate / 10 {
			i++
			_ = unix.Access(fmt.Sprintf("%s/%x_%d_absent.db", folder, 0xabc0de00+i, i), unix.F_OK)
		}
		time.Sleep(100*time.Millisecond - time.Since(began))
	}
}

// startStorm makes a process in a cgroup look up names in a folder.
func startStorm(t *testing.T, cgroup, folder string, rate int) (pid int, stop func()) {
	t.Helper()
	wrap := inCgroup(cgroup)
	command := exec.Command(wrap[0], append(wrap[1:], os.Args[0])...)
	command.Env = append(os.Environ(), stormVariable+"="+folder, stormRateVariable+"="+strconv.Itoa(rate))
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	}
	t.Cleanup(stop)
	return command.Process.Pid, stop
}

// TestStormIsNamedAndTracingEnds: the process and the pattern of a storm are reported, on the node and on its cgroup,
// at the right rate; some time after the storm tracing has stopped.
func TestStormIsNamedAndTracingEnds(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	directory, path := cgroupFor(t, -1)
	o := observe(t, "failed_lookups")
	o.needs("failed_lookups")
	time.Sleep(2 * time.Second)
	const rate = 5_000
	began := time.Now()
	pid, stop := startStorm(t, directory, folder, rate)
	pattern := "/%_#_absent.db"
	named := func(resource func(*ingestpb.Resource) bool) (event *ingestpb.Event, count float64) {
		for _, e := range o.eventsOf(catalogue.EventFsLookupFailures, resource) {
			var rows [][4]any
			if err := json.Unmarshal([]byte(e.Attributes["rows"]), &rows); err != nil {
				t.Fatalf("%s: %v", e.Attributes["rows"], err)
			}
			for _, row := range rows {
				if row[1].(float64) == float64(pid) && strings.HasSuffix(row[2].(string), pattern) && row[0] == "livetest.test" {
					event, count = e, row[3].(float64)
				}
			}
		}
		return event, count
	}
	node := func(r *ingestpb.Resource) bool { return r.Kind == ingestpb.ResourceKind_RESOURCE_KIND_NODE }
	group := func(r *ingestpb.Resource) bool { return r.Key == path }
	var event *ingestpb.Event
	waitFor(t, "the storm is named", func() bool { event, _ = named(node); return event != nil })
	t.Logf("named after %v: %v", time.Since(began), event.Attributes)
	time.Sleep(7 * time.Second) // a report covers five seconds
	stop()
	if event, count := named(node); event == nil || count/(float64(event.DurationUs)/1e6) < 0.8*rate || count/(float64(event.DurationUs)/1e6) > 1.1*rate {
		t.Errorf("%v in %v us, want %d a second", count, event.GetDurationUs(), rate)
	}
	if event, _ := named(group); event == nil {
		t.Error("nothing was told of the cgroup")
	}
	points := o.series(path, catalogue.LookupFailures)
	sum := 0.0
	for _, p := range points {
		sum += p.value
	}
	if mean := sum / float64(len(points)); len(points) < 20 || mean < 0.8*rate/10 || mean > 1.2*rate/10 {
		t.Errorf("the cgroup's series: %v", points)
	}
	// Off for longer than between two turns of a continuing storm.
	const off = 8 * time.Second
	quiet := func() bool {
		traced := o.series(o.node(), catalogue.LookupFailures)
		return time.Since(time.UnixMicro(traced[len(traced)-1].startUS)) > off
	}
	deadline := time.Now().Add(time.Minute)
	for !quiet() && time.Now().Before(deadline) {
		time.Sleep(200 * time.Millisecond)
	}
	if !quiet() {
		t.Error("tracing goes on")
	}
	if ended := o.eventsOf(catalogue.EventFsTracing, node); len(ended) == 0 {
		t.Error("that it was traced was not told")
	} else {
		t.Logf("traced: %v", ended)
	}
}

// eventsOf lists the events of a kind for some resources, in the order in which they were sent.
func (o *observer) eventsOf(kind string, of func(*ingestpb.Resource) bool) (events []*ingestpb.Event) {
	o.each(func(b *ingestpb.Batch) {
		for _, event := range b.Events {
			if event.Kind == kind && of(b.Resources[event.Resource]) {
				events = append(events, event)
			}
		}
	})
	return events
}
