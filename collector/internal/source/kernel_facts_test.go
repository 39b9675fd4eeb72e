package source

import (
	"os"
	"path/filepath"
	"testing"
)

// procWith writes files of a /proc.
func procWith(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDentryLimitsOfKernels(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"{}":                             {"sys/fs/dentry-state": "1\t1\t45\t0\t0\t0\n"},
		`{"fs.negative-dentry-limit":0}`: {"sys/fs/negative-dentry-limit": "0\n"}, // RHEL 7.8
		`{"fs.dentry-fs-klimit":40000}`:  {"sys/fs/dentry-fs-klimit": "40000\n"},  // RHEL 8.10
		`{"fs.dentry-negative":1}`:       {"sys/fs/dentry-negative": "1\n"},       // Linux 6.11
	} {
		if got := dentryLimitFact(procWith(t, files)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestWatermarkFact(t *testing.T) {
	zoneinfo, err := os.ReadFile("../procfs/testdata/linux-6.18/zoneinfo")
	if err != nil {
		t.Fatal(err)
	}
	zones := `"zones":[{"name":"DMA","min":13,"low":16,"high":19},{"name":"DMA32","min":2680,"low":3452,"high":4224},{"name":"Normal","min":14202,"low":18298,"high":22394}]}`
	for want, files := range map[string]map[string]string{
		`{"min_free_kbytes":67584,"watermark_scale_factor":10,` + zones: {"sys/vm/min_free_kbytes": "67584\n", "sys/vm/watermark_scale_factor": "10\n"},
		`{"min_free_kbytes":67584,` + zones:                             {"sys/vm/min_free_kbytes": "67584\n"}, // before Linux 4.6
	} {
		if got, ok := watermarkFact(procWith(t, files), zoneinfo); got != want || !ok {
			t.Errorf("%s %v, want %s", got, ok, want)
		}
	}
	if got, ok := watermarkFact(t.TempDir(), nil); ok {
		t.Errorf("of nothing: %s", got)
	}
}

// TestSlabCaches finds the caches below /sys: not those that several share, nor those of kernels that count each cgroup apart.
func TestSlabCaches(t *testing.T) {
	sys := procWith(t, map[string]string{
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

// scanSlabs lists the caches that are found and the bytes of a slab of each.
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
