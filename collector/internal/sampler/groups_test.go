package sampler

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
)

// TestBorn: counters of a cgroup begin at 0 only if it was created while the collector ran. Runtimes remove a cgroup of
// version 1 from one hierarchy after another.
func TestBorn(t *testing.T) {
	root := t.TempDir()
	groups := newHarness(t, root).groups
	layout := cgroup.Layout{Version: 1, CPU: filepath.Join(root, "cpu"), Memory: filepath.Join(root, "memory")}
	groups.walker = &cgroup.Walker{Layout: layout}
	create := func(names ...string) {
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	isBorn := func(path string) bool {
		t.Helper()
		if err := groups.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		group, ok := groups.get(path)
		if !ok {
			t.Fatalf("%s is not known", path)
		}
		return group.Born
	}
	create("cpu/old", "memory/old")
	if isBorn("/old") {
		t.Error("it was there before")
	}
	if err := os.Remove(filepath.Join(root, "memory/old")); err != nil {
		t.Fatal(err)
	}
	if isBorn("/old") {
		t.Error("it only lost a controller")
	}
	create("cpu/new")
	if !isBorn("/new") {
		t.Error("it is new")
	}
}
