package gometrics

import (
	"math"
	"strings"
	"testing"
	"time"
)

// From a CoreDNS 1.12.0 with prometheus/client_golang 1.20.5.
const page = `# HELP go_gc_duration_seconds A summary of the wall-time pause (stop-the-world) duration in garbage collection cycles.
# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds{quantile="1"} 0.000438033
go_gc_duration_seconds_sum 0.00053647
go_gc_duration_seconds_count 2
go_gc_gogc_percent 100
go_gc_gomemlimit_bytes 9.223372036854776e+18
go_memstats_heap_alloc_bytes 5.914712e+06
go_memstats_last_gc_time_seconds 1.7952568385826914e+09
go_memstats_next_gc_bytes 9.235018e+06 1795256838000
go_memstats_stack_inuse_bytes 720896
go_sched_gomaxprocs_threads 2
go_goroutines
`

func TestParse(t *testing.T) {
	s, err := Parse(strings.NewReader(page), time.Unix(1795256900, 0))
	if err != nil || !s.HasGoCollector || s.Cycles != 2 || s.PauseSeconds != 0.00053647 || s.HeapGoal != 9.235018e6 || s.GOMAXPROCS != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if other, err := Parse(strings.NewReader("up 1\n"), time.Now()); err != nil || other.HasGoCollector {
		t.Errorf("%+v, %v", other, err)
	}
}

func TestLiveHeap(t *testing.T) {
	at := time.Unix(1795256900, 0)
	base, err := Parse(strings.NewReader(page), at)
	if err != nil {
		t.Fatal(err)
	}
	goal := base.HeapGoal
	if live := base.LiveBytes(); math.Abs(live+(live+base.StackInUse)-goal) > 1 { // GOGC=100 doubles live heap and stacks
		t.Errorf("live %v of a goal of %v", live, goal)
	}
	exported := base
	exported.HeapLive = 42
	if exported.LiveBytes() != 42 {
		t.Error("the exported value is not used")
	}
	limited := base
	limited.GOMEMLIMIT = 100 << 20
	if !math.IsNaN(limited.LiveBytes()) {
		t.Errorf("guessed %v below a memory limit", limited.LiveBytes())
	}
	limited.LastGCSeconds = 1795256899.5
	if limited.LiveBytes() != limited.HeapAlloc {
		t.Error("what is allocated right after a collection is the live heap")
	}
}
