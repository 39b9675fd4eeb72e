package kernel

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/mounts"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("unmounts", func() sampler.Source { return &unmounts{} }) }

// unmounts reports file systems that are unmounted, and how long the kernel then took to free their dentries.
type unmounts struct {
	registry *sampler.Registry
	watcher  *mounts.Watcher
	cancel   context.CancelFunc
	running  sync.WaitGroup
	count    atomic.Uint64
	slot     batch.Slot

	second int64 // of the last event
	told   int   // events in it
}

const unmountsPerSecond = 20 // events; all are counted

func (u *unmounts) Name() string { return "unmounts" }

func (u *unmounts) Start(ctx context.Context, registry *sampler.Registry) error {
	watcher, err := mounts.Open(registry.Roots.Proc)
	if err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable /proc/1/mountinfo"}
	}
	u.registry, u.watcher = registry, watcher
	u.slot = registry.Counter(batch.Node, catalogue.Unmounts, true)
	ctx, u.cancel = context.WithCancel(ctx)
	u.running.Go(func() { watcher.Run(ctx, u.gone) })
	return nil
}

func (u *unmounts) gone(unmount mounts.Unmount) {
	u.count.Add(1)
	if second := unmount.StartUS / 1_000_000; second != u.second {
		u.second, u.told = second, 0
	}
	if u.told++; u.told > unmountsPerSecond && unmount.DurationUS == 0 {
		return
	}
	attributes := map[string]string{"target": unmount.Target, "type": unmount.Type}
	if unmount.Last {
		attributes["last"] = "yes"
	}
	if unmount.Dentries > 0 {
		attributes["dentries"] = strconv.FormatInt(unmount.Dentries, 10)
	}
	if unmount.PID != 0 {
		attributes["command"], attributes["pid"] = unmount.Command, strconv.Itoa(unmount.PID)
	}
	u.registry.Event(batch.Node, catalogue.EventFsUnmount, unmount.StartUS, unmount.DurationUS, attributes)
}

func (u *unmounts) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	recorder.Delta(u.slot, u.count.Load())
}

func (u *unmounts) Close() error {
	u.cancel()
	u.running.Wait()
	u.watcher.Close()
	return nil
}
