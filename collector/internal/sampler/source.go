// Package sampler runs the sources on the 100 ms grid. Sources implement Source; everything that they can call is in
// Registry (slow path, any goroutine) and Recorder (hot path, only inside Sample).
package sampler

import (
	"context"
	"fmt"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
)

// Source samples one thing: one file in a folder of internal/source, named after the metric catalogue's "source".
type Source interface {
	// Name is the source name of the metric catalogue, "cgroup_cpu".
	Name() string
	// Start checks what the source needs and starts its goroutines, which end with ctx. It returns *Unavailable if a
	// kernel feature or a privilege is missing: the other sources continue, and the need is shown once in the log and
	// in the UI. It returns *Off if the source is not configured to do anything.
	Start(ctx context.Context, registry *Registry) error
	// Sample writes the values of tick. It runs on the sampling thread and must not allocate, block or log.
	Sample(tick Tick, recorder *Recorder)
	// Close releases descriptors after the last Sample.
	Close() error
}

// Discoverer is a Source that also looks for new and vanished objects. Discover runs about every second off the
// sampling thread, concurrently with Sample: wrap changes to what Sample reads in Registry.Between.
type Discoverer interface {
	Discover(ctx context.Context)
}

// Finisher is a Source with something left to write when the collector stops: Finish runs after the last Sample.
type Finisher interface {
	Finish()
}

// Tick is one point of the grid. It covers [StartUS, StartUS+100000) and is sampled at its end: deltas are since the
// previous tick, gauges are as of its end.
type Tick struct {
	StartUS    int64  // microseconds since the Unix epoch, a multiple of 100000
	LatenessUS int64  // how long after StartUS+100000 sampling began
	LatencyUS  int64  // how long the thread was due and did not run; -1: without real-time priority, that says nothing
	Missed     int    // ticks lost directly before this one; they stay missing (NaN)
	Sequence   uint64 // counts sampled ticks of this run, from 1; use it to spread slow reads over ticks
	Shed       int    // how much resolution to give up to stay in budget; see budget.go
}

// EndUS is the first microsecond after the tick.
func (t Tick) EndUS() int64 { return t.StartUS + batch.StepUS }

// SlowEvery is the number of ticks between slow reads: 1 s.
const SlowEvery = 10

// Due spreads slow reads evenly over ticks: member index is read at every tenth tick.
func (t Tick) Due(index int) bool { return (t.Sequence+uint64(index))%SlowEvery == 0 }

// TriggerEveryUS limits the triggers of one cgroup or server; the first one is immediate.
const TriggerEveryUS = 1_000_000

// Unavailable says why a source cannot work here.
type Unavailable struct {
	Detail string // what is missing: "perf_event_open: permission denied"
	Needs  string // the privilege or kernel version that enables it: "CAP_BPF, CAP_PERFMON; Linux 5.8"
}

func (u *Unavailable) Error() string { return fmt.Sprintf("%s (needs %s)", u.Detail, u.Needs) }

// Off says that a source has nothing to do in this configuration. That is not an error: like a source that is not
// enabled, it is not logged and has no state; the check command lists it.
type Off struct {
	Detail string // "no targets are configured in [sources.dns_probe]"
}

func (o *Off) Error() string { return o.Detail }

// Counters is a Source that has counters for the collector's own /metrics page.
type Counters interface {
	// EachCounter calls yield with the name ("packets_total") and the value of each counter.
	EachCounter(yield func(name string, value float64))
}
