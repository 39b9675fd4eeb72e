package cgroup

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

const (
	zoomTargets  = 16  // maximum number of cgroups sampled at 10 ms
	zoomRing     = 512 // samples kept per cgroup: 5.1 s
	zoomBeforeUS = 1_000_000
	zoomAfterUS  = 2_000_000
	// A sample that is later than this after its deadline says too little about its 10 ms.
	zoomLatestUS = batch.ZoomStepUS / 2
)

// zoom samples the cgroups that are near their quota every 10 ms into rings, and sends what surrounds a throttled tick.
// The ring is filled before anything happens, because the stall itself precedes the tick that shows it.
type zoom struct {
	registry *sampler.Registry
	wake     chan struct{}

	mu      sync.Mutex
	targets []*zoomTarget
	off     bool // shed
	buffer  [1024]byte
	values  []byte
}

// zoomTarget is one cgroup with its own descriptors, so that it can outlive the cgroup briefly.
type zoomTarget struct {
	path         string
	resource     batch.ResourceID
	throttled    *atomic.Int64 // of the cgroup
	seen         int64         // the throttled tick that was last marked
	stat, usage  procfs.Held
	ring         [zoomRing]zoomSample
	from, until  int64 // numbers of the 10 ms ticks to send, [from, until)
	sent         int64 // all before this are sent
	lastSampleAt int64
}

// zoomSample holds counters as read at the end of 10 ms tick number.
type zoomSample struct {
	number                               int64
	usage, periods, throttled, throttleU uint64
}

func newZoom(registry *sampler.Registry) *zoom {
	return &zoom{registry: registry, wake: make(chan struct{}, 1)}
}

// choose sets the cgroups to follow, in order of preference.
func (z *zoom) choose(groups []*cpuGroup) {
	if len(groups) > zoomTargets {
		groups = groups[:zoomTargets]
	}
	chosen := make(map[string]*cpuGroup, len(groups))
	for _, g := range groups {
		chosen[g.Path] = g
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	kept := z.targets[:0]
	for _, target := range z.targets {
		if g := chosen[target.path]; g != nil && g.Resource == target.resource {
			delete(chosen, target.path)
			target.throttled = &g.throttledUS
			kept = append(kept, target)
			continue
		}
		if target.sent < target.until { // still has ticks to send
			kept = append(kept, target)
			continue
		}
		target.shut()
	}
	clear(z.targets[len(kept):])
	z.targets = kept
	for _, g := range groups {
		if chosen[g.Path] == nil || len(z.targets) >= zoomTargets {
			continue
		}
		target := &zoomTarget{
			path: g.Path, resource: g.Resource, stat: procfs.HoldIfExists(g.CPU + "/cpu.stat"),
			throttled: &g.throttledUS, seen: g.throttledUS.Load(),
		}
		if g.Version == 1 && g.CPUAcct != "" {
			target.usage = procfs.HoldIfExists(g.CPUAcct + "/cpuacct.usage")
		}
		z.targets = append(z.targets, target)
	}
	if len(z.targets) > 0 {
		select {
		case z.wake <- struct{}{}:
		default:
		}
	}
}

func (t *zoomTarget) shut() {
	t.stat.Close()
	t.usage.Close()
}

// mark marks what surrounds a throttled tick of the cgroup as to be sent.
func (t *zoomTarget) mark() {
	startUS := t.throttled.Load()
	if startUS == t.seen {
		return
	}
	t.seen = startUS
	from := (startUS - zoomBeforeUS) / batch.ZoomStepUS
	if from > t.until {
		t.from = from
	}
	t.until = (startUS + zoomAfterUS) / batch.ZoomStepUS
}

// loop is the zoom thread; it sleeps without a deadline while there is nothing to follow.
func (z *zoom) loop(done <-chan struct{}) {
	runtime.LockOSThread() // never unlocked: the thread ends with its priority
	z.registry.RaisePriority()
	for {
		select {
		case <-done:
			return
		default:
		}
		if !z.busy() {
			select {
			case <-done:
				return
			case <-z.wake:
			}
		}
		deadline := (time.Now().UnixMicro()/batch.ZoomStepUS + 1) * batch.ZoomStepUS
		sampler.SleepUntil(deadline)
		z.sample(deadline/batch.ZoomStepUS - 1)
	}
}

func (z *zoom) busy() bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return len(z.targets) > 0 && !z.off
}

func (z *zoom) sample(number int64) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, target := range z.targets {
		target.mark()
		now := time.Now().UnixMicro()
		if late := now - (number+1)*batch.ZoomStepUS; late < 0 || late > zoomLatestUS {
			continue // stays missing
		}
		text, ok := target.stat.Read(z.buffer[:])
		if !ok {
			continue
		}
		var stat cgroup.CPUStat
		cgroup.ParseCPUStat(text, &stat)
		sample := zoomSample{number: number, usage: stat.UsageUS, periods: stat.Periods, throttled: stat.ThrottledPeriods, throttleU: stat.ThrottledUS}
		if text, ok := target.usage.Read(z.buffer[:]); ok {
			if ns, ok := cgroup.ParseUint(text); ok {
				sample.usage = ns / 1000
			}
		}
		target.ring[number%zoomRing] = sample
		target.lastSampleAt = number
	}
}

// send records what was marked and has been sampled. It is called about every second.
func (z *zoom) send(shed int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.off = shed >= sampler.ShedZoom
	for _, target := range z.targets {
		from := max(target.from, target.sent, target.lastSampleAt-zoomRing+2)
		until := min(target.until, target.lastSampleAt+1)
		if z.off {
			target.until = min(target.until, target.lastSampleAt+1)
		}
		if from >= until {
			continue
		}
		z.registry.Block(target.resource, z.block(target, from, until))
		target.sent = until
	}
}

// block computes the deltas of [from, until). As on the grid, growth over missed ticks is recorded where it was seen.
func (z *zoom) block(target *zoomTarget, from, until int64) *ingestpb.SeriesBlock {
	ticks := int(until - from)
	block := &ingestpb.SeriesBlock{
		StartUs: from * batch.ZoomStepUS, StepUs: batch.ZoomStepUS, TickCount: uint32(ticks),
		Encoding: ingestpb.Encoding_ENCODING_I32,
		Metric:   []uint32{catalogue.CPUUsageUS, catalogue.CPUPeriods, catalogue.CPUThrottledPeriods, catalogue.CPUThrottledUS},
	}
	z.values = z.values[:0]
	counters := [...]func(zoomSample) uint64{
		func(s zoomSample) uint64 { return s.usage }, func(s zoomSample) uint64 { return s.periods },
		func(s zoomSample) uint64 { return s.throttled }, func(s zoomSample) uint64 { return s.throttleU },
	}
	for _, counter := range counters {
		previous, known := target.before(from)
		for number := from; number < until; number++ {
			value := uint32(1 << 31) // missing
			if sample := target.ring[number%zoomRing]; sample.number == number {
				if known && counter(sample) >= counter(previous) {
					value = uint32(min(counter(sample)-counter(previous), math.MaxInt32))
				}
				previous, known = sample, true
			}
			z.values = binary.LittleEndian.AppendUint32(z.values, value)
		}
	}
	block.Values = z.values
	return block
}

// before is the last sample before number, if it is not older than a few ticks.
func (t *zoomTarget) before(number int64) (zoomSample, bool) {
	for back := int64(1); back <= 10; back++ {
		if sample := t.ring[(number-back)%zoomRing]; sample.number == number-back && sample.number > 0 {
			return sample, true
		}
	}
	return zoomSample{}, false
}

func (z *zoom) close() {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, target := range z.targets {
		target.shut()
	}
	z.targets = nil
}
