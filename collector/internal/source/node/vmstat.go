package node

import (
	"context"
	"path/filepath"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("vmstat", func() sampler.Source { return &vmstat{} }) }

// vmstat samples the effects of memory reclaim on the node. It requests a diagnosis of the node while tasks have to
// reclaim directly.
type vmstat struct {
	file        procfs.Held
	pace        sampler.Pace
	counters    [8]vmCounter
	stat        procfs.VMStat
	last        uint64 // allocation stalls
	known       bool
	stalled     int // consecutive readings in which tasks stalled
	triggeredUS int64
	buffer      [16 << 10]byte
}

type vmCounter struct {
	field procfs.VMField
	of    func(*procfs.VMStat) uint64
	slot  batch.Slot
}

// A single direct reclaim is harmless. Two readings in a row, or another one soon after, are not.
const (
	stalledReadings = 2
	stalledAgainUS  = 10_000_000
)

func (v *vmstat) Name() string { return "vmstat" }

func (v *vmstat) Start(_ context.Context, registry *sampler.Registry) error {
	var err error
	if v.file, err = procfs.Hold(filepath.Join(registry.Roots.Proc, "vmstat")); err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable /proc/vmstat"}
	}
	series := func(metric uint32) batch.Slot { return registry.Series(batch.Node, metric) }
	v.counters = [...]vmCounter{
		{procfs.VMScanDirect, func(s *procfs.VMStat) uint64 { return s.ScanDirect }, series(catalogue.VmScanDirectPages)},
		{procfs.VMScanKswapd, func(s *procfs.VMStat) uint64 { return s.ScanKswapd }, series(catalogue.VmScanKswapdPages)},
		{procfs.VMStealDirect, func(s *procfs.VMStat) uint64 { return s.StealDirect }, series(catalogue.VmStealDirectPages)},
		{procfs.VMStealKswapd, func(s *procfs.VMStat) uint64 { return s.StealKswapd }, series(catalogue.VmStealKswapdPages)},
		{procfs.VMAllocStalls, func(s *procfs.VMStat) uint64 { return s.AllocStalls }, series(catalogue.VmAllocStalls)},
		{procfs.VMSlabsScanned, func(s *procfs.VMStat) uint64 { return s.SlabsScanned }, series(catalogue.VmSlabsScanned)},
		{procfs.VMDropSlab, func(s *procfs.VMStat) uint64 { return s.DropSlab }, series(catalogue.VmDropSlab)},
		{procfs.VMCompactStall, func(s *procfs.VMStat) uint64 { return s.CompactStall }, series(catalogue.VmCompactStalls)},
	}
	return nil
}

func (v *vmstat) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	if !v.pace.Begin(tick, 1) {
		return
	}
	ok := v.read()
	v.pace.End()
	if !ok {
		return
	}
	for i := range v.counters {
		if c := &v.counters[i]; v.stat.Seen&c.field != 0 {
			recorder.Delta(c.slot, c.of(&v.stat))
		}
	}
	if v.stat.Seen&procfs.VMAllocStalls != 0 {
		v.watchStalls(tick, recorder, v.stat.AllocStalls)
	}
}

// read reads the pieces of the file until all fields have been seen: each piece makes the kernel visit every CPU.
func (v *vmstat) read() bool {
	v.stat = procfs.VMStat{}
	for offset := int64(0); ; {
		text, ok := v.file.ReadAt(v.buffer[:], offset)
		if !ok {
			return false
		}
		v.stat.Add(text)
		if len(text) == 0 || v.stat.Complete() {
			return v.stat.Seen != 0
		}
		offset += int64(len(text))
	}
}

func (v *vmstat) watchStalls(tick sampler.Tick, recorder *sampler.Recorder, stalls uint64) {
	grown := v.known && stalls > v.last
	v.last, v.known = stalls, true
	if !grown {
		v.stalled = 0
		return
	}
	if v.stalled++; v.stalled >= stalledReadings && (v.triggeredUS == 0 || tick.EndUS()-v.triggeredUS >= stalledAgainUS) {
		v.triggeredUS = tick.EndUS()
		recorder.Trigger(batch.Node, "memory_growth", tick.StartUS)
	}
}

func (v *vmstat) Close() error {
	v.file.Close()
	return nil
}
