package mounts

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

func TestParseAndCompare(t *testing.T) {
	before := Parse(`22 27 0:21 / /proc rw,relatime - proc proc rw
36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
37 35 0:50 / /run/a rw shared:5 master:7 - tmpfs tmpfs rw
38 35 0:50 /b /run/b rw - tmpfs tmpfs rw
39 35 0:51 / /run/c rw - overlay overlay rw,lowerdir=/x - y
broken
`)
	if len(before) != 5 || before[36] != (Mount{36, "98:0", "/mnt 2", "ext3"}) || before[39].Type != "overlay" {
		t.Fatalf("%v", before)
	}
	after := Parse("22 27 0:21 / /proc rw,relatime - proc proc rw\n38 35 0:50 /b /run/b rw - tmpfs tmpfs rw\n39 35 0:60 / /run/d rw - tmpfs tmpfs rw\n")
	gone := map[string]bool{}
	for _, g := range Compare(before, after) {
		gone[g.Target] = g.Last
	}
	if len(gone) != 3 || !gone["/mnt 2"] || gone["/run/a"] || !gone["/run/c"] {
		t.Errorf("gone %v", gone)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw\n")
	f.Add("1 2 3 4 \\9 6 - \n\\")
	f.Fuzz(func(t *testing.T, text string) {
		if gone := Compare(Parse(text), nil); len(gone) != len(Parse(text)) {
			t.Error("mounts are lost")
		}
	})
}

// TestUnmountWithManyNamesIsTold unmounts a file system with many dentries, and one without.
func TestUnmountWithManyNamesIsTold(t *testing.T) {
	watcher, err := Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	unmounts := make(chan Unmount, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		watcher.Run(ctx, func(u Unmount) { unmounts <- u })
	}()
	defer func() { cancel(); <-done; watcher.Close() }()

	const names = 500_000
	for _, many := range []bool{false, true} {
		target := filepath.Join(t.TempDir(), "a mount")
		if err := os.Mkdir(target, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("jitterscope-test", target, "tmpfs", 0, "size=1m,nr_inodes=0"); err != nil {
			testenv.Skip(t, "needs the right to mount: %v", err)
		}
		if many {
			// A tmpfs keeps no negative dentries; existing files have dentries, too.
			if err := os.WriteFile(target+"/file", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for i := range names {
				if err := unix.Link(target+"/file", target+"/"+strconv.Itoa(i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(3 * restFor) // a mount that is gone again before the next look goes unnoticed
		began := time.Now()
		if err := unix.Unmount(target, 0); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		got := waitFor(t, unmounts, target)
		t.Logf("unmounting took %v: %+v", took, got)
		if got.Type != "tmpfs" || !got.Last || got.StartUS < began.UnixMicro() {
			t.Errorf("told %+v", got)
		}
		// The kernel counts the dentries of the whole node, and others are created meanwhile.
		if many && took > 200*time.Millisecond && got.Dentries < names/10 {
			t.Errorf("told %+v, it took %v", got, took)
		}
	}
}

func waitFor(t *testing.T, unmounts <-chan Unmount, target string) Unmount {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		select {
		case unmount := <-unmounts:
			if unmount.Target == target {
				return unmount
			}
		case <-late:
			t.Fatalf("the unmount of %s was not told", target)
		}
	}
}
