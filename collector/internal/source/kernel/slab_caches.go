package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

// scan adds new caches.
func (s *slabinfo) scan() error {
	s.scanned = time.Now()
	fresh, err := findSlabCaches(s.registry.Roots.Sys, s.page, s.caches)
	if err != nil {
		return err
	}
	if len(fresh) > 0 {
		all := append(s.caches[:len(s.caches):len(s.caches)], fresh...)
		s.registry.Between(func() { s.caches = all })
	}
	return nil
}

// findSlabCaches finds the caches below /sys/kernel/slab that are not held yet.
func findSlabCaches(sys string, page uint64, held []slabCache) (fresh []slabCache, err error) {
	root := filepath.Join(sys, "kernel/slab")
	// Before Linux 5.9 every memory cgroup had its own caches, and these files count only the root's.
	if _, err := os.Stat(filepath.Join(root, "dentry/cgroup")); err == nil {
		return nil, errors.New("/sys/kernel/slab counts the caches of each cgroup separately (before Linux 5.9)")
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(held))
	for i := range held {
		known[held[i].name] = true
	}
	for _, entry := range entries {
		name := entry.Name()
		dentry := name == "dentry"
		// A symbolic link leads to a cache that several share: its size says nothing about one of them.
		if !entry.IsDir() || known[name] || !(dentry || procfs.IsInodeCache([]byte(name))) || len(held)+len(fresh) >= maxSlabCaches {
			continue
		}
		cache, err := openSlabCache(root, name, page)
		if err != nil {
			if dentry {
				closeCaches(fresh)
				return nil, err
			}
			continue
		}
		cache.dentry = dentry
		fresh = append(fresh, cache)
	}
	if len(held) == 0 && !hasDentry(fresh) {
		closeCaches(fresh)
		return nil, errors.New("/sys/kernel/slab has no dentry cache")
	}
	return fresh, nil
}

func openSlabCache(root, name string, page uint64) (slabCache, error) {
	text, err := os.ReadFile(filepath.Join(root, name, "order"))
	if err != nil {
		return slabCache{}, err
	}
	order, ok := procfs.ParseSlabs(text)
	if !ok || order > maxSlabOrder {
		return slabCache{}, fmt.Errorf("order of %s: %q", name, strings.TrimSpace(string(text)))
	}
	slabs, err := procfs.Hold(filepath.Join(root, name, "slabs"))
	if err != nil {
		return slabCache{}, err
	}
	if text, ok := slabs.Read(make([]byte, 256)); ok {
		if _, ok := procfs.ParseSlabs(text); ok {
			return slabCache{name: name, slabs: slabs, bytes: page << order}, nil
		}
	}
	slabs.Close()
	return slabCache{}, fmt.Errorf("the slabs of %s cannot be read", name)
}

func hasDentry(caches []slabCache) bool {
	for i := range caches {
		if caches[i].dentry {
			return true
		}
	}
	return false
}

func closeCaches(caches []slabCache) {
	for i := range caches {
		caches[i].slabs.Close()
	}
}
