package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func TestFilesAreThere(t *testing.T) {
	folder := t.TempDir()
	if _, err := files([]string{"--dir", folder, "--count", "2500"}); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(folder, "d*", "f*"))
	if err != nil || len(made) != 2500 {
		t.Fatalf("%d files, %v; want 2500", len(made), err)
	}
}

func TestLookupsFailAndLeaveNothing(t *testing.T) {
	needRoot(t)
	folder := t.TempDir()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	counter, err := countFailures()
	if err != nil {
		t.Fatal(err)
	}
	defer counter.close()
	before, err := counter.read()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lookups([]string{"--dir", folder, "--count", "500", "--most", "0"}); err != nil {
		t.Fatal(err)
	}
	after, err := counter.read()
	if err != nil || after-before < 500 || after-before > 510 {
		t.Fatalf("the kernel counted %d failing lookups (%v), want 500", after-before, err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Fatalf("left %d names, %v", len(left), err)
	}
	if _, err := lookups([]string{"--dir", filepath.Join(folder, "missing")}); err == nil {
		t.Fatal("no folder, no complaint")
	}
}

func TestRepeatCountsItsChildren(t *testing.T) {
	needRoot(t)
	missing := filepath.Join(t.TempDir(), "missing")
	script := fmt.Sprintf("for i in 1 2 3 4 5 6 7 8 9 10; do [ -e %s$i ]; done; exit 0", missing)
	result, err := repeat([]string{"--per-second", "50", "--seconds", "30", "--failures", "100", "--", "/bin/sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	done := result.(repeated)
	// The shell looks up a few files of its own on startup.
	if done.Starts < 5 || done.Starts > 10 || done.Failures < 100 || len(done.TookUs) != done.Starts {
		t.Fatalf("%+v", done)
	}
	if _, err := repeat([]string{"--", "/bin/false"}); err == nil {
		t.Fatal("a program that fails is no start")
	}
}

func TestVerifierWalksWhatIsAskedFor(t *testing.T) {
	needRoot(t)
	for _, c := range []struct{ verified, depth int }{{5_000, 6}, {60_000, 8}, {60_000, 10}} {
		program, one, err := loadOne(1, c.verified, c.depth)
		if err != nil {
			t.Fatal(err)
		}
		if err := program.Close(); err != nil {
			t.Error(err)
		}
		if one.Verified == 0 {
			t.Skip("this kernel does not tell how many instructions it verified")
		}
		if ratio := float64(one.Verified) / float64(c.verified); ratio < 0.7 || ratio > 1.3 {
			t.Errorf("%+v: verified %d instructions", c, one.Verified)
		}
		if one.TookUs <= 0 || one.StartUs <= 0 {
			t.Errorf("%+v", one)
		}
	}
}
