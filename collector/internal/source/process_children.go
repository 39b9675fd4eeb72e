package source

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
)

func init() { register("process_children", func() sampler.Source { return &processChildren{} }) }

// processChildren counts the children of DNS servers. dnsmasq makes one for each TCP connection, up to a limit.
type processChildren struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	parents  []parentProcess // changed in Registry.Between alone
	buffer   [4096]byte
}

type parentProcess struct {
	watched  *procwatch.Process
	children procfs.Held
	slot     batch.Slot
}

func (p *processChildren) Name() string { return "process_children" }

func (p *processChildren) Start(_ context.Context, registry *sampler.Registry) error {
	if _, err := os.Stat(filepath.Join(registry.Roots.Proc, "thread-self/children")); err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a kernel with CONFIG_PROC_CHILDREN (part of CONFIG_CHECKPOINT_RESTORE)"}
	}
	p.registry, p.watcher = registry, procwatch.Shared(registry)
	p.watcher.Subscribe(p.change)
	return nil
}

// Discover implements sampler.Discoverer.
func (p *processChildren) Discover(ctx context.Context) { p.watcher.Refresh(ctx) }

func (p *processChildren) change(added, removed []*procwatch.Process) {
	gone := make(map[*procwatch.Process]bool, len(removed))
	for _, watched := range removed {
		gone[watched] = true
	}
	var fresh []parentProcess
	for _, watched := range added {
		if watched.DNS == "" {
			continue
		}
		pid := strconv.Itoa(watched.PID)
		// The children of the first thread. Servers that fork have no other.
		if children, err := procfs.Hold(filepath.Join(p.registry.Roots.Proc, pid, "task", pid, "children")); err == nil {
			fresh = append(fresh, parentProcess{
				watched: watched, children: children, slot: p.registry.Series(watched.Resource, catalogue.ProcessChildren),
			})
		}
	}
	var shut []parentProcess
	p.registry.Between(func() {
		kept := p.parents[:0]
		for _, parent := range p.parents {
			if gone[parent.watched] {
				shut = append(shut, parent)
			} else {
				kept = append(kept, parent)
			}
		}
		p.parents = append(kept, fresh...)
	})
	for i := range shut {
		shut[i].children.Close()
	}
}

func (p *processChildren) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	for i := range p.parents {
		if count, ok := p.count(p.parents[i].children); ok {
			recorder.Set(p.parents[i].slot, float64(count))
		}
	}
}

// count counts the numbers in the file, each of which a space follows.
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
	for i := range p.parents {
		p.parents[i].children.Close()
	}
	return nil
}

// childrenOf lists the children of the first thread of a process.
func childrenOf(proc string, pid int) (children []int) {
	number := strconv.Itoa(pid)
	text, err := os.ReadFile(filepath.Join(proc, number, "task", number, "children"))
	if err != nil {
		return nil
	}
	for _, field := range bytes.Fields(text) {
		if child, err := strconv.Atoi(string(field)); err == nil {
			children = append(children, child)
		}
	}
	return children
}
