package kernel

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpfload"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("bpf_loads", func() sampler.Source { return &bpfLoads{} }) }

// bpfLoads reports eBPF programs that are loaded, which process loaded them, and how long the kernel took to verify
// them.
type bpfLoads struct {
	registry          *sampler.Registry
	watcher           *bpfload.Watcher
	cancel            context.CancelFunc
	running           sync.WaitGroup
	loads, took       atomic.Uint64
	loadsSlot, usSlot batch.Slot

	// Used only by the goroutine that waits for loads.
	second      int64 // of the last one
	told        int   // events in this second
	recent      int64 // microseconds spent, in the window that began at
	window      int64
	triggeredUS int64
}

const (
	smallLoadUS    = 1_000 // below this, a load is reported only if there are few
	smallPerSecond = 20
	loadsPerSecond = 200
	// This much verification within this time visibly delays the start of a pod.
	loadWindowUS   = 10_000_000
	loadTroubleUS  = 300_000
	loadAskEveryUS = 5_000_000
)

func (b *bpfLoads) Name() string { return "bpf_loads" }

func (b *bpfLoads) Start(ctx context.Context, registry *sampler.Registry) error {
	watcher, err := bpfload.Open(possibleCPUs(registry.Roots.Sys))
	if err != nil {
		detail := err.Error()
		if errors.Is(err, os.ErrPermission) {
			detail = "perf_event_open is not permitted"
		}
		return &sampler.Unavailable{Detail: detail, Needs: bpfload.Needs}
	}
	b.registry, b.watcher = registry, watcher
	b.loadsSlot = registry.Counter(batch.Node, catalogue.BpfLoads, true)
	b.usSlot = registry.Counter(batch.Node, catalogue.BpfLoadUS, true)
	ctx, b.cancel = context.WithCancel(ctx)
	b.running.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its priority
		registry.RaisePriority()
		watcher.Run(ctx, b.loaded)
	})
	return nil
}

// possibleCPUs is one more than the highest number in "0-3" or "0,2-5".
func possibleCPUs(sys string) int {
	text, err := os.ReadFile(filepath.Join(sys, "devices/system/cpu/possible"))
	if err != nil {
		return runtime.NumCPU()
	}
	last := strings.TrimSpace(string(text))
	if at := strings.LastIndexAny(last, "-,"); at >= 0 {
		last = last[at+1:]
	}
	highest, err := strconv.Atoi(last)
	if err != nil {
		return runtime.NumCPU()
	}
	return highest + 1
}

func (b *bpfLoads) loaded(load bpfload.Load) {
	b.loads.Add(1)
	b.took.Add(uint64(load.DurationUS))
	if second := load.EndUS / 1_000_000; second != b.second {
		b.second, b.told = second, 0
	}
	if b.told < smallPerSecond || load.DurationUS >= smallLoadUS && b.told < loadsPerSecond {
		b.told++
		b.tell(&load)
	}
	if load.EndUS-b.window > loadWindowUS {
		b.window, b.recent = load.EndUS-load.DurationUS, 0
	}
	b.recent += load.DurationUS
	if b.recent >= loadTroubleUS && load.EndUS-b.triggeredUS >= loadAskEveryUS {
		b.triggeredUS = load.EndUS
		b.registry.Trigger(batch.Node, "bpf_load", load.EndUS)
	}
}

func (b *bpfLoads) tell(load *bpfload.Load) {
	resource, command := batch.Node, ""
	directory := filepath.Join(b.registry.Roots.Proc, strconv.FormatUint(uint64(load.PID), 10))
	if text, err := os.ReadFile(filepath.Join(directory, "comm")); err == nil {
		command = strings.TrimSuffix(string(text), "\n")
	}
	if text, err := os.ReadFile(filepath.Join(directory, "cgroup")); err == nil {
		if group, ok := b.registry.Cgroup(procwatch.CgroupOf(text)); ok {
			resource = group.Resource
		}
	}
	attributes := map[string]string{"pid": strconv.FormatUint(uint64(load.PID), 10)}
	if command != "" {
		attributes["command"] = command
	}
	if !load.Gone {
		attributes["name"], attributes["type"] = load.Name, load.Type
		attributes["instructions"] = strconv.FormatUint(uint64(load.Instructions), 10)
		if load.Verified > 0 {
			attributes["verified_instructions"] = strconv.FormatUint(uint64(load.Verified), 10)
		}
	}
	b.registry.Event(resource, catalogue.EventBpfLoad, load.EndUS-load.DurationUS, load.DurationUS, attributes)
}

func (b *bpfLoads) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	recorder.Delta(b.loadsSlot, b.loads.Load())
	recorder.Delta(b.usSlot, b.took.Load())
}

// EachCounter implements sampler.Counters.
func (b *bpfLoads) EachCounter(yield func(name string, value float64)) {
	yield("lost_loads_total", float64(b.watcher.Lost()))
}

func (b *bpfLoads) Close() error {
	b.cancel()
	b.running.Wait()
	b.watcher.Close()
	return nil
}
