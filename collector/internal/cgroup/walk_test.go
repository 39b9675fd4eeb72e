package cgroup

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func makeDirs(t *testing.T, root string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		directory := filepath.Join(root, path)
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, "cgroup.procs"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func paths(locations []Location) []string {
	var all []string
	for _, l := range locations {
		all = append(all, l.Path)
	}
	return all
}

func walk(t *testing.T, w *Walker) []Location {
	t.Helper()
	locations, err := w.Walk(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return locations
}

func TestV1JoinsHierarchies(t *testing.T) {
	root := t.TempDir()
	makeDirs(t, root, "cpu,cpuacct", "cpu,cpuacct/a", "cpu,cpuacct/a/b", "memory", "memory/a", "memory/only", "pids", "blkio", "blkio/no", "blkio/a")
	for _, link := range []string{"cpu", "cpuacct"} {
		if err := os.Symlink("cpu,cpuacct", filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	layout, err := Detect(root)
	if err != nil || layout.Version != 1 || layout.CPU == "" || layout.CPUAcct == "" || layout.Memory == "" || layout.Pids == "" {
		t.Fatalf("%+v %v", layout, err)
	}
	locations := walk(t, &Walker{Layout: layout})
	if got := paths(locations); !slices.Equal(got, []string{"/a", "/a/b", "/only"}) {
		t.Fatalf("%v", got)
	}
	a, only := locations[0], locations[2]
	if a.CPU == "" || a.CPU != a.CPUAcct || a.Memory == "" || a.IO == "" || a.Pids != "" || only.CPU != "" || only.Memory == "" {
		t.Errorf("%+v %+v", a, only)
	}
	if b := locations[1]; b.Parent() != "/a" || a.Parent() != "/" {
		t.Errorf("parents %s %s", b.Parent(), a.Parent())
	}
}

func TestV2AndReincarnation(t *testing.T) {
	root := t.TempDir()
	makeDirs(t, root, "", "a")
	if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte("cpu\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	layout, err := Detect(root)
	if err != nil || layout.Version != 2 {
		t.Fatalf("%+v %v", layout, err)
	}
	walker := &Walker{Layout: layout}
	before := walk(t, walker)[0]
	if !before.Same(walk(t, walker)[0]) {
		t.Error("the same cgroup is not the same")
	}
	if err := os.WriteFile(filepath.Join(root, "a", "cpu.max"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if before.Same(walk(t, walker)[0]) {
		t.Error("a cgroup in which a controller was turned on has to be opened again")
	}
	before = walk(t, walker)[0]
	if err := os.Rename(filepath.Join(root, "a"), filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	makeDirs(t, root, "a")
	if before.Same(walk(t, walker)[0]) {
		t.Error("a cgroup that was made anew is taken for the old one")
	}
}

func TestLimitKeepsWhatHasAQuota(t *testing.T) {
	root := t.TempDir()
	makeDirs(t, root, "", "a", "b", "c", "c/deep", "c/deep/er")
	for path, quota := range map[string]string{"a": "max 100000", "b": "max 100000", "c/deep/er": "50000 100000"} {
		if err := os.WriteFile(filepath.Join(root, path, "cpu.max"), []byte(quota), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	walker := &Walker{Layout: Layout{Version: 2, CPU: root, CPUAcct: root, Memory: root, Pids: root}, Limit: 3}
	if got := paths(walk(t, walker)); !slices.Equal(got, []string{"/a", "/b", "/c/deep/er"}) || walker.Shed != 2 {
		t.Errorf("%v, %d left out", got, walker.Shed)
	}
}

func TestNothingMounted(t *testing.T) {
	if _, err := Detect(t.TempDir()); err == nil {
		t.Error("an empty directory is no cgroup file system")
	}
	if _, err := Detect("/nonexistent"); err == nil {
		t.Error("a missing directory is no cgroup file system")
	}
}

func TestWatcherTellsOfGroupsAndLimits(t *testing.T) {
	root := t.TempDir()
	makeDirs(t, root, "")
	for _, name := range []string{"cpu.max", "cgroup.procs"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	watcher, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	watcher.Add(root)
	told := func(within time.Duration) bool {
		select {
		case <-watcher.Changed():
			return true
		case <-time.After(within):
			return false
		}
	}
	write := func(name string) {
		file, err := os.OpenFile(filepath.Join(root, name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = file.WriteString("1")
		_ = file.Close()
	}
	write("cgroup.procs")
	if told(100 * time.Millisecond) {
		t.Error("a process that moves is no change of the tree")
	}
	if watcher.Moves() == 0 {
		t.Error("a process that moves was not told")
	}
	moves := watcher.Moves()
	write("cpu.max")
	if !told(5 * time.Second) {
		t.Error("a new limit was not told")
	}
	if watcher.Moves() != moves {
		t.Error("a limit moves no process")
	}
	if err := os.Mkdir(filepath.Join(root, "new"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !told(5 * time.Second) {
		t.Error("a new cgroup was not told")
	}
}
