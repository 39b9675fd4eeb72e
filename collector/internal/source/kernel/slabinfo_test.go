package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestSlabCaches(t *testing.T) {
	sys := sourcetest.Tree(t, map[string]string{
		"kernel/slab/dentry/slabs": "3720 N0=3720\n", "kernel/slab/dentry/order": "0\n",
		"kernel/slab/ext4_inode_cache/slabs": "14927 N0=14900 N1=27\n", "kernel/slab/ext4_inode_cache/order": "2\n",
		"kernel/slab/:0000064/slabs": "5 N0=5\n", "kernel/slab/:0000064/order": "0\n", "kernel/slab/kmalloc-64/slabs": "1\n",
	})
	if err := os.Symlink(":0000064", filepath.Join(sys, "kernel/slab/odd_inode")); err != nil {
		t.Fatal(err)
	}
	found := scanSlabs(t, sys)
	if len(found) != 2 || found["dentry"] != 4096 || found["ext4_inode_cache"] != 16384 {
		t.Errorf("%v", found)
	}
	if err := os.MkdirAll(filepath.Join(sys, "kernel/slab/dentry/cgroup"), 0o755); err != nil {
		t.Fatal(err)
	}
	if found := scanSlabs(t, sys); len(found) != 0 {
		t.Errorf("before Linux 5.9: %v", found)
	}
}

func scanSlabs(t *testing.T, sys string) map[string]uint64 {
	t.Helper()
	caches, err := findSlabCaches(sys, 4096, nil)
	defer closeCaches(caches)
	found := make(map[string]uint64)
	for i := range caches {
		found[caches[i].name] = caches[i].bytes
	}
	if (err == nil) != (len(found) > 0) {
		t.Errorf("%v: %v", found, err)
	}
	return found
}

func TestSlabinfo(t *testing.T) {
	page := float64(os.Getpagesize())
	sys := sourcetest.Tree(t, map[string]string{
		"kernel/slab/dentry/slabs": "3720 N0=3720\n", "kernel/slab/dentry/order": "0\n",
		"kernel/slab/ext4_inode_cache/slabs": "10 N0=10\n", "kernel/slab/ext4_inode_cache/order": "2\n",
	})
	r := sourcetest.Start(t, sourcetest.Setup{Sys: sys, Sources: []sampler.Source{&slabinfo{}}})
	r.Ticks(10)
	r.Want(sourcetest.Node, catalogue.SlabDentryBytes, 3720*page)
	r.Want(sourcetest.Node, catalogue.SlabInodeBytes, 40*page)
}

// TestSlabinfoWithoutSys falls back to the file that is expensive to read.
func TestSlabinfoWithoutSys(t *testing.T) {
	proc := sourcetest.Tree(t, map[string]string{"slabinfo": "@../../procfs/testdata/linux-6.18/slabinfo"})
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&slabinfo{}}})
	r.Ticks(2)
	if got := r.Values(sourcetest.Node, catalogue.SlabDentryBytes); len(got) != 1 || got[0] < 1<<20 {
		t.Errorf("dentries take %v", got)
	}
	none := sourcetest.Start(t, sourcetest.Setup{Sources: []sampler.Source{&slabinfo{}}})
	if got := none.Status("slabinfo"); !strings.HasPrefix(got, "UNAVAILABLE: ") {
		t.Error(got)
	}
}
