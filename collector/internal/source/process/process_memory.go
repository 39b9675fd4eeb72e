package process

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("process_memory", func() sampler.Source { return &processMemory{} }) }

// processMemory samples the resident memory of the watched processes, and their open descriptors: those of DNS servers
// at each tick, because a burst of queries uses them up within seconds, those of others every second.
type processMemory struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	sampled  sampler.Members[*procwatch.Process, memoryProcess]
	page     float64
	buffer   [16 << 10]byte
}

type memoryProcess struct {
	watched         *procwatch.Process
	statm           procfs.Held
	descriptors     procfs.Descriptors // DNS servers
	listing         sampler.Pace       // if they have to be listed
	rss, openedSlot batch.Slot
}

func (p *processMemory) Name() string { return "process_memory" }

func (p *processMemory) Start(_ context.Context, registry *sampler.Registry) error {
	p.registry, p.watcher = registry, procwatch.Shared(registry)
	p.page = float64(os.Getpagesize())
	p.sampled = sampler.Members[*procwatch.Process, memoryProcess]{Registry: registry, Open: p.open, Shut: (*memoryProcess).close}
	p.watcher.Subscribe(p.sampled.Change)
	return nil
}

// Discover implements sampler.Discoverer.
func (p *processMemory) Discover(ctx context.Context) { p.watcher.Refresh(ctx) }

func (p *processMemory) open(watched *procwatch.Process) *memoryProcess {
	directory := filepath.Join(p.registry.Roots.Proc, strconv.Itoa(watched.PID))
	statm, err := procfs.Hold(filepath.Join(directory, "statm"))
	if err != nil {
		return nil // gone
	}
	process := &memoryProcess{
		watched: watched, statm: statm, openedSlot: batch.NoSlot, rss: p.registry.Series(watched.Resource, catalogue.ProcessRSSBytes),
	}
	if watched.DNS == "" {
		return process
	}
	if process.descriptors, err = procfs.HoldDescriptors(filepath.Join(directory, "fd")); err != nil {
		p.registry.Log.Info("descriptors cannot be counted", "pid", watched.PID, "command", watched.Command, "error", err)
		return process
	}
	process.openedSlot = p.registry.Series(watched.Resource, catalogue.ProcessFds)
	return process
}

func (m *memoryProcess) close() {
	m.statm.Close()
	m.descriptors.Close()
}

func (p *processMemory) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	for i, process := range p.sampled.All {
		if process.watched.DNS == "" && !tick.Due(i) {
			continue
		}
		if text, ok := process.statm.Read(p.buffer[:]); ok {
			if pages, ok := procfs.ParseResidentPages(text); ok {
				recorder.Set(process.rss, float64(pages)*p.page)
			}
		}
		p.countDescriptors(process, tick, uint64(i), recorder)
	}
}

func (p *processMemory) countDescriptors(process *memoryProcess, tick sampler.Tick, index uint64, recorder *sampler.Recorder) {
	if process.openedSlot == batch.NoSlot {
		return
	}
	listed := !process.descriptors.Cheap()
	if listed && !process.listing.Begin(tick, index) {
		return
	}
	count, ok := process.descriptors.Count(p.buffer[:])
	if listed {
		process.listing.End()
	}
	if ok {
		recorder.Set(process.openedSlot, float64(count))
	}
}

func (p *processMemory) Close() error {
	p.sampled.Close()
	return nil
}
