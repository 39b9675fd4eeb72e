package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/flightrecorder"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("flight_recorder", func() sampler.Source { return &flightRecorder{} }) }

// flightRecorder ships what ran on the node around triggers of any source. The kernel records by itself; a goroutine
// drains the recording every second, and another looks for servers that owe answers and give none.
type flightRecorder struct {
	registry *sampler.Registry
	recorder *flightrecorder.Recorder
	symbols  *flightrecorder.Symbols
	triggers chan flightTrigger
	cuts     flightCuts
	every    time.Duration
	missed   atomic.Int64 // triggers that came faster than they were taken
	sent     atomic.Int64
	stall    stallTime // of the sampling thread
	looping  sync.WaitGroup

	waits *flightWaits

	cpu    batch.Slot
	usedNS atomic.Int64
}

// stallTime is when the sampling thread did not run; that thread writes it.
type stallTime struct{ fromUS, toUS atomic.Int64 }

const (
	flightEvery      = time.Second
	flightEverySmall = 250 * time.Millisecond // if rings are small, on machines with many CPUs
	flightSmallRing  = 128 << 10
	flightReopen     = 15 * time.Second
	stalledTicks     = 5 // this many missed ticks in a row are a stall
)

func (f *flightRecorder) Name() string { return "flight_recorder" }

func (f *flightRecorder) Start(ctx context.Context, registry *sampler.Registry) error {
	f.registry = registry
	f.recorder = flightrecorder.New(registry.Roots.Proc, registry.Roots.Sys)
	f.symbols = flightrecorder.NewSymbols(registry.Roots.Proc)
	f.waits = newFlightWaits(registry, f.recorder.Waits())
	if _, err := os.Stat(filepath.Join(registry.Roots.Proc, "self/stat")); err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable procfs"}
	}
	f.state(f.recorder.Open())
	f.triggers = make(chan flightTrigger, 64)
	f.cuts = newFlightCuts()
	f.cpu = registry.Series(batch.Node, catalogue.RecorderCPUUS)
	f.every = flightEvery
	if wanted, least := f.recorder.RingBytes(); min(wanted, least) < flightSmallRing {
		f.every = flightEverySmall
	}
	registry.OnTrigger(f.heard)
	registry.Every(ctx, waitsPoll, f.poll)
	f.looping.Go(func() { f.loop(ctx) })
	return nil
}

// state reports what works. Without samples there is the process table.
func (f *flightRecorder) state(err error) {
	wanted, least := f.recorder.RingBytes()
	switch {
	case err != nil:
		detail, needs := explainPerf(f.registry.Roots.Proc, err)
		if f.recorder.Sampled() > 0 {
			detail = "not all CPUs are sampled: " + detail
		} else {
			detail = "process table only, no stacks: " + detail
		}
		f.registry.Degraded(detail, needs)
	case least < wanted:
		f.registry.Degraded(fmt.Sprintf("the kernel's buffer of each CPU has %d KiB instead of %d: the end of a long stall is not covered", least>>10, wanted>>10),
			"CAP_IPC_LOCK, a larger limit of locked memory (LimitMEMLOCK), or a larger kernel.perf_event_mlock_kb")
	case f.waits.hidden.Load():
		f.registry.Degraded("what threads wait in is not readable", "CAP_SYS_PTRACE")
	case f.symbols.Hidden() != nil:
		f.registry.Degraded("functions of the kernel have no names: "+f.symbols.Hidden().Error(), "CAP_SYSLOG, or kernel.kptr_restrict=0")
	default:
		f.registry.Degraded("", "")
	}
}

// explainPerf says why the kernel does not sample and how to enable it.
func explainPerf(proc string, err error) (detail, needs string) {
	detail = err.Error()
	if text, readError := os.ReadFile(filepath.Join(proc, "sys/kernel/perf_event_paranoid")); readError == nil {
		detail += " (kernel.perf_event_paranoid is " + strings.TrimSpace(string(text)) + ")"
	}
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		needs = "CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8) and a seccomp profile that allows perf_event_open, or kernel.perf_event_paranoid of 0 or less"
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOENT):
		needs = "a kernel with CONFIG_PERF_EVENTS"
	case errors.Is(err, unix.EINVAL):
		needs = "Linux 4.1"
	case errors.Is(err, unix.EMFILE):
		needs = "a higher limit of open files (LimitNOFILE)"
	}
	return detail, needs
}

// heard is called with each trigger, on any thread.
func (f *flightRecorder) heard(resource batch.ResourceID, reason string, atUS int64) {
	select {
	case f.triggers <- flightTrigger{resource, reason, atUS}:
	default:
		f.missed.Add(1)
	}
}

// poll looks for silent servers.
func (f *flightRecorder) poll() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadNS()
	f.waits.poll(time.Now())
	f.usedNS.Add(threadNS() - before)
}

func (f *flightRecorder) loop(ctx context.Context) {
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	last, opened, tabled := time.Now(), time.Now(), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// The goroutine keeps its thread so that its CPU time can be measured.
		runtime.LockOSThread()
		before, now := threadNS(), time.Now()
		if now.Sub(last) > f.every+time.Second {
			f.cuts.stalled(last.UnixMicro(), now.UnixMicro())
		}
		last = now
		if from := f.stall.fromUS.Load(); from != 0 {
			f.cuts.stalled(from, f.stall.toUS.Load())
		}
		f.recorder.Drain(now.UnixMicro())
		if now.Sub(tabled) >= flightEvery-flightEvery/10 {
			tabled = now
			f.recorder.Table(now.UnixMicro())
		}
		if now.Sub(opened) >= flightReopen {
			opened = now
			f.state(f.recorder.Open())
		}
		f.ship(now)
		f.usedNS.Add(threadNS() - before)
		runtime.UnlockOSThread()
	}
}

// ship takes the triggers and sends the captures that are due.
func (f *flightRecorder) ship(now time.Time) {
	for range cap(f.triggers) {
		select {
		case trigger := <-f.triggers:
			f.cuts.add(trigger)
			continue
		default:
		}
		break
	}
	for {
		due, ok := f.cuts.due(now.UnixMicro())
		if !ok {
			return
		}
		capture := f.capture(due, now)
		if capture == nil {
			continue
		}
		capture.Reason = due.reason
		if f.registry.Capture(due.resource, capture) {
			f.sent.Add(1)
		} else {
			f.registry.Log.Warn("dropped a capture: it does not fit into the open batch", "reason", due.reason)
		}
	}
}

// capture makes one capture. It reads untrusted programs: an error there costs only this capture.
func (f *flightRecorder) capture(due flightDue, now time.Time) (made *ingestpb.Capture) {
	defer func() {
		if cause := recover(); cause != nil {
			f.registry.Log.Error("a capture failed, report it", "reason", due.reason, "panic", fmt.Sprint(cause))
			f.symbols = flightrecorder.NewSymbols(f.registry.Roots.Proc)
			made = nil
		}
	}()
	return f.recorder.Capture(due.fromUS, now.UnixMicro(), f.symbols)
}

// Sample implements sampler.Source.
func (f *flightRecorder) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	if tick.Missed >= stalledTicks {
		f.stall.toUS.Store(tick.EndUS())
		f.stall.fromUS.Store(tick.StartUS - int64(tick.Missed)*batch.StepUS)
	}
	recorder.Delta(f.cpu, uint64(f.usedNS.Load()/1000))
}

// threadNS is the CPU time of the calling thread.
func threadNS() int64 {
	var used unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used) != nil {
		return 0
	}
	return used.Nano()
}

// EachCounter implements sampler.Counters.
func (f *flightRecorder) EachCounter(yield func(name string, value float64)) {
	stats := f.recorder.Stats()
	yield("samples_total", float64(stats.Samples.Load()))
	yield("samples_lost_total", float64(stats.Lost.Load()))
	yield("ring_bytes", float64(stats.RingBytes.Load()))
	yield("captures_total", float64(f.sent.Load()))
	yield("looks_total", float64(f.waits.looks.Load()))
	yield("cpu_seconds_total", float64(f.usedNS.Load())/1e9)
}

func (f *flightRecorder) Close() error {
	f.looping.Wait()
	f.recorder.Close()
	return nil
}
