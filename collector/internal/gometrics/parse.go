// Package gometrics reads what a Go program reports about its runtime on its Prometheus page, and a CoreDNS about its
// work.
package gometrics

import (
	"io"
	"math"
	"time"
)

// Sample is one scrape; values that the page does not have are NaN.
type Sample struct {
	At             time.Time
	Cycles         float64 // go_gc_duration_seconds_count
	PauseSeconds   float64 // go_gc_duration_seconds_sum
	LastGCSeconds  float64 // since the Unix epoch
	HeapAlloc      float64
	HeapGoal       float64 // go_memstats_next_gc_bytes
	HeapLive       float64 // go_gc_heap_live_bytes: only if the program exports all runtime metrics
	StackInUse     float64
	GOGCPercent    float64
	GOMEMLIMIT     float64
	GOMAXPROCS     float64
	Goroutines     float64 // go_goroutines
	HasGoCollector bool
	CoreDNS        CoreDNS
}

// Parse reads the text exposition format.
func Parse(page io.Reader, at time.Time) (Sample, error) {
	nan := math.NaN()
	s := Sample{At: at, Cycles: nan, PauseSeconds: nan, LastGCSeconds: nan, HeapAlloc: nan, HeapGoal: nan, HeapLive: nan,
		StackInUse: nan, GOGCPercent: nan, GOMEMLIMIT: nan, GOMAXPROCS: nan, Goroutines: nan}
	fields := map[string]*float64{
		"go_gc_duration_seconds_count": &s.Cycles, "go_gc_duration_seconds_sum": &s.PauseSeconds,
		"go_memstats_last_gc_time_seconds": &s.LastGCSeconds, "go_memstats_heap_alloc_bytes": &s.HeapAlloc,
		"go_memstats_next_gc_bytes": &s.HeapGoal, "go_gc_heap_live_bytes": &s.HeapLive,
		"go_memstats_stack_inuse_bytes": &s.StackInUse, "go_gc_gogc_percent": &s.GOGCPercent,
		"go_gc_gomemlimit_bytes": &s.GOMEMLIMIT, "go_sched_gomaxprocs_threads": &s.GOMAXPROCS,
		"go_goroutines": &s.Goroutines,
	}
	var counted coreDNSTotals
	err := EachSample(page, func(name, labels, value []byte) {
		if target := fields[string(name)]; target != nil && len(labels) == 0 {
			if read, ok := Number(value); ok {
				*target = read
			}
			return
		}
		counted.add(name, labels, value)
	})
	s.CoreDNS = counted.counters()
	s.HasGoCollector = !math.IsNaN(s.Cycles)
	return s, err
}

// noMemoryLimit is what the runtime reports if GOMEMLIMIT is not set (math.MaxInt64 as a float).
const noMemoryLimit = 9.2e18

// LiveBytes is the heap that the last GC cycle left, NaN if the page does not tell. Most programs do not export it:
// then it follows from the goal, goal = live + (live + stacks) * GOGC / 100, as long as no memory limit lowers the goal
// (https://go.dev/doc/gc-guide), or is what is allocated directly after a cycle.
func (s Sample) LiveBytes() float64 {
	if !math.IsNaN(s.HeapLive) {
		return s.HeapLive
	}
	if s.GOMEMLIMIT > noMemoryLimit && s.GOGCPercent > 0 {
		ratio := s.GOGCPercent / 100
		if live := (s.HeapGoal - s.StackInUse*ratio) / (1 + ratio); live > 0 {
			return live
		}
	}
	if float64(s.At.UnixMicro())/1e6-s.LastGCSeconds < 1 {
		return s.HeapAlloc
	}
	return math.NaN()
}
