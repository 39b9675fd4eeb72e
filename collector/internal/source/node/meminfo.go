package node

import (
	"context"
	"path/filepath"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
	"github.com/jitterscope/jitterscope/collector/internal/trend"
)

func init() { source.Register("meminfo", func() sampler.Source { return &meminfo{} }) }

// meminfo samples the memory of the node. It requests a diagnosis of the node while available memory runs out.
type meminfo struct {
	file                                                procfs.Held
	pace                                                sampler.Pace
	available, free, cached, reclaimable, unreclaimable batch.Slot
	trend                                               trend.Trend
	buffer                                              [4096]byte
}

func (m *meminfo) Name() string { return "meminfo" }

func (m *meminfo) Start(_ context.Context, registry *sampler.Registry) error {
	var err error
	if m.file, err = procfs.Hold(filepath.Join(registry.Roots.Proc, "meminfo")); err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable /proc/meminfo"}
	}
	series := func(metric uint32) batch.Slot { return registry.Series(batch.Node, metric) }
	m.available, m.free, m.cached = series(catalogue.MemoryAvailableBytes), series(catalogue.MemoryFreeBytes), series(catalogue.MemoryCachedBytes)
	m.reclaimable, m.unreclaimable = series(catalogue.SlabReclaimableBytes), series(catalogue.SlabUnreclaimableBytes)
	return nil
}

func (m *meminfo) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	if !m.pace.Begin(tick, 0) {
		return
	}
	text, ok := m.file.Read(m.buffer[:])
	m.pace.End()
	if !ok {
		return
	}
	info, ok := procfs.ParseMemInfo(text)
	if !ok {
		return
	}
	recorder.Set(m.free, float64(info.FreeBytes))
	recorder.Set(m.cached, float64(info.CachedBytes))
	recorder.Set(m.reclaimable, float64(info.SlabReclaimableBytes))
	recorder.Set(m.unreclaimable, float64(info.SlabUnreclaimableBytes))
	if !info.HasAvailable {
		return
	}
	recorder.Set(m.available, float64(info.AvailableBytes))
	m.trend.Add(tick.EndUS(), -float64(info.AvailableBytes))
	if m.trend.Reaches(0, trend.MemoryHorizonUS) && m.trend.Ask(tick.EndUS(), trend.MemoryAgainUS) {
		recorder.Trigger(batch.Node, "memory_growth", tick.StartUS)
	}
}

func (m *meminfo) Close() error {
	m.file.Close()
	return nil
}
