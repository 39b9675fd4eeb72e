package process

import (
	"bytes"
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

func init() { source.Register("process_children", func() sampler.Source { return &processChildren{} }) }

// processChildren counts the children of DNS servers. dnsmasq forks one per TCP connection, up to a limit.
type processChildren struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	parents  sampler.Members[*procwatch.Process, parentProcess]
	buffer   [4096]byte
}

type parentProcess struct {
	children procfs.Held
	slot     batch.Slot
}

func (p *processChildren) Name() string { return "process_children" }

func (p *processChildren) Start(_ context.Context, registry *sampler.Registry) error {
	if _, err := os.Stat(filepath.Join(registry.Roots.Proc, "thread-self/children")); err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a kernel with CONFIG_PROC_CHILDREN (part of CONFIG_CHECKPOINT_RESTORE)"}
	}
	p.registry, p.watcher = registry, procwatch.Shared(registry)
	p.parents = sampler.Members[*procwatch.Process, parentProcess]{
		Registry: registry, Open: p.open, Shut: func(parent *parentProcess) { parent.children.Close() },
	}
	p.watcher.Subscribe(p.parents.Change)
	return nil
}

// Discover implements sampler.Discoverer.
func (p *processChildren) Discover(ctx context.Context) { p.watcher.Refresh(ctx) }

func (p *processChildren) open(watched *procwatch.Process) *parentProcess {
	if watched.DNS == "" {
		return nil
	}
	pid := strconv.Itoa(watched.PID)
	// The children of the first thread. Servers that fork have no other threads.
	children, err := procfs.Hold(filepath.Join(p.registry.Roots.Proc, pid, "task", pid, "children"))
	if err != nil {
		return nil
	}
	return &parentProcess{children: children, slot: p.registry.Series(watched.Resource, catalogue.ProcessChildren)}
}

func (p *processChildren) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	for _, parent := range p.parents.All {
		if count, ok := p.count(parent.children); ok {
			recorder.Set(parent.slot, float64(count))
		}
	}
}

// count counts the numbers in the file, each followed by a space.
func (p *processChildren) count(file procfs.Held) (count int, ok bool) {
	for offset := int64(0); ; {
		text, ok := file.ReadAt(p.buffer[:], offset)
		if !ok {
			return 0, false
		}
		if len(text) == 0 {
			return count, true
		}
		count += bytes.Count(text, []byte{' '})
		offset += int64(len(text))
	}
}

func (p *processChildren) Close() error {
	p.parents.Close()
	return nil
}
