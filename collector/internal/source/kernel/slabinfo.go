package kernel

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cputime"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("slabinfo", func() sampler.Source { return &slabinfo{} }) }

// slabinfo samples the memory of dentries and inodes. /proc/slabinfo makes the kernel walk lists with interrupts off,
// which takes milliseconds exactly when there are many of these: it is read every ten seconds, off the sampling thread,
// and only if the counters below /sys/kernel/slab are not available. Those are plain numbers, read every second.
type slabinfo struct {
	registry      *sampler.Registry
	dentry, inode batch.Slot
	page          uint64
	buffer        [256]byte

	caches  []slabCache // /sys; changed only in Registry.Between
	scanned time.Time

	mu    sync.Mutex // /proc
	due   time.Time
	fresh bool
	read  procfs.SlabBytes
}

// slabCache is one cache below /sys/kernel/slab.
type slabCache struct {
	name   string
	slabs  procfs.Held
	bytes  uint64 // per slab
	dentry bool
}

const (
	slabScanEvery = time.Minute // a module can add a cache
	slabinfoEvery = 10 * time.Second
	maxSlabCaches = 128
	maxSlabOrder  = 10
)

func (s *slabinfo) Name() string { return "slabinfo" }

func (s *slabinfo) Start(_ context.Context, registry *sampler.Registry) error {
	s.registry, s.page = registry, uint64(os.Getpagesize())
	err := s.scan()
	if err != nil {
		if _, unreadable := s.readProc(); unreadable != nil {
			return &sampler.Unavailable{
				Detail: errors.Join(err, unreadable).Error(), Needs: "root, to read /sys/kernel/slab (SLUB, Linux 5.9) or /proc/slabinfo",
			}
		}
	}
	s.dentry = registry.Series(batch.Node, catalogue.SlabDentryBytes)
	s.inode = registry.Series(batch.Node, catalogue.SlabInodeBytes)
	return nil
}

func (s *slabinfo) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	if len(s.caches) == 0 {
		s.recordRead(recorder)
		return
	}
	if !tick.Due(3) {
		return
	}
	var slabs procfs.SlabBytes
	for i := range s.caches {
		cache := &s.caches[i]
		text, ok := cache.slabs.Read(s.buffer[:])
		if !ok {
			if cache.dentry {
				return
			}
			continue // its module is gone
		}
		count, ok := procfs.ParseSlabs(text)
		switch {
		case !ok:
		case cache.dentry:
			slabs.Dentry = count * cache.bytes
		default:
			slabs.Inode += count * cache.bytes
		}
	}
	recorder.Set(s.dentry, float64(slabs.Dentry))
	recorder.Set(s.inode, float64(slabs.Inode))
}

func (s *slabinfo) recordRead(recorder *sampler.Recorder) {
	if !s.mu.TryLock() {
		return // being written: wait for the next tick
	}
	defer s.mu.Unlock()
	if s.fresh {
		s.fresh = false
		recorder.Set(s.dentry, float64(s.read.Dentry))
		recorder.Set(s.inode, float64(s.read.Inode))
	}
}

// Discover looks for new caches, or reads /proc/slabinfo.
func (s *slabinfo) Discover(context.Context) {
	if len(s.caches) > 0 {
		if time.Since(s.scanned) >= slabScanEvery {
			_ = s.scan()
		}
		return
	}
	if time.Now().Before(s.due) {
		return
	}
	var slabs procfs.SlabBytes
	var err error
	cost := cputime.Of(func() { slabs, err = s.readProc() })
	// Never more than 0.1 % of a CPU: on a node with huge lists this is slow.
	s.due = time.Now().Add(max(slabinfoEvery, 1000*cost))
	if err == nil {
		s.mu.Lock()
		s.read, s.fresh = slabs, true
		s.mu.Unlock()
	}
}

func (s *slabinfo) readProc() (procfs.SlabBytes, error) {
	text, err := os.ReadFile(filepath.Join(s.registry.Roots.Proc, "slabinfo"))
	if err != nil {
		return procfs.SlabBytes{}, err
	}
	slabs, ok := procfs.ParseSlabinfo(text, s.page)
	if !ok {
		return slabs, errors.New("/proc/slabinfo does not name the dentry cache")
	}
	return slabs, nil
}

func (s *slabinfo) Close() error {
	for i := range s.caches {
		s.caches[i].slabs.Close()
	}
	return nil
}
