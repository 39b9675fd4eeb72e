package nss

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/mounts"
)

// write makes a /proc with one process.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	proc := t.TempDir()
	for name, text := range files {
		file := filepath.Join(proc, "4242", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return proc
}

func process(environ string) map[string]string {
	return map[string]string{
		"maps": "7f00-7f01 r-xp 00000000 fd:00 12 /usr/lib/libc.so.6\n" +
			"7f10-7f11 r-xp 00000000 fd:00 13                     /usr/lib/libnss3.so\n" +
			"7f20-7f21 r-xp 00000000 fd:00 14                     /usr/lib/libsoftokn3.so\n",
		"environ":                     "PATH=/bin\x00" + environ + "LANG=C\x00",
		"mountinfo":                   "1 0 0:20 / / rw - overlay overlay rw\n2 1 0:21 / /home rw - nfs4 server:/home rw\n",
		"root/usr/lib/libnss3.so":     "\x7fELF Version: NSS 3.86 \x00",
		"root/usr/lib/libsoftokn3.so": "\x7fELF" + strings.Repeat("x", 100_000) + "Version: NSS 3.87.1 Basic ECC\x00more",
	}
}

func TestAProcessTellsItsVersionVariableAndFileSystem(t *testing.T) {
	info, ok := Inspect(write(t, process("NSS_SDB_USE_CACHE=auto\x00")), 4242, "/home/app/.pki/nssdb/.7_dOeSnotExist_.db")
	if !ok || info.Version != "3.87.1" || info.Env == nil || *info.Env != "auto" || info.FileSystem != "nfs4" {
		t.Fatalf("%+v %v", info, ok)
	}
	info, ok = Inspect(write(t, process("XNSS_SDB_USE_CACHE=yes\x00")), 4242, "/etc/pki/nssdb/.7_dOeSnotExist_.db")
	if !ok || info.Env != nil || info.FileSystem != "overlay" {
		t.Fatalf("%+v %v", info, ok)
	}
	if info, ok = Inspect(write(t, process("")), 4242, "./.7_dOeSnotExist_.db"); !ok || info.FileSystem != "" {
		t.Fatalf("%+v %v", info, ok)
	}
}

func TestWhoHasNoneOrIsGoneTellsNothing(t *testing.T) {
	if info, ok := Inspect(t.TempDir(), 4242, "/x"); ok {
		t.Fatalf("%+v of a process that is gone", info)
	}
	files := process("")
	files["maps"] = "7f00-7f01 r-xp 00000000 fd:00 12 /usr/lib/libc.so.6\n"
	if info, ok := Inspect(write(t, files), 4242, "/x"); ok {
		t.Fatalf("%+v of a process without NSS", info)
	}
	files = process("")
	files["root/usr/lib/libsoftokn3.so"] = "\x7fELF"
	if info, ok := Inspect(write(t, files), 4242, "/x"); ok {
		t.Fatalf("%+v of a library without a version", info)
	}
}

func TestAVersionIsFoundWhereverItLies(t *testing.T) {
	for _, before := range []int{0, 1, chunkBytes - 20, chunkBytes - 5, chunkBytes, 3*chunkBytes - 12} {
		text := strings.Repeat("N", before) + marker + "3.36.0.1 "
		for name, reader := range map[string]*strings.Reader{"whole": strings.NewReader(text), "and more": strings.NewReader(text + strings.Repeat("z", 2*chunkBytes))} {
			if got := versionIn(iotest.HalfReader(reader)); got != "3.36.0.1" {
				t.Errorf("%q after %d bytes (%s)", got, before, name)
			}
		}
	}
	if got := versionIn(strings.NewReader(strings.Repeat("N", 3*chunkBytes))); got != "" {
		t.Error(got)
	}
}

func TestTheNewestOfMountsAtOnePlaceCounts(t *testing.T) {
	table := map[int]mounts.Mount{
		1: {ID: 1, Target: "/", Type: "ext4"}, 2: {ID: 2, Target: "/data", Type: "xfs"},
		3: {ID: 3, Target: "/data", Type: "fuse.sshfs"}, 4: {ID: 4, Target: "/database", Type: "tmpfs"},
	}
	for path, want := range map[string]string{"/data/x": "fuse.sshfs", "/database/x": "tmpfs", "/dat": "ext4"} {
		if got := fileSystemOf(table, path); got != want {
			t.Errorf("%s lies on %s, want %s", path, got, want)
		}
	}
}

func TestAWatcherInspectsWhoeverAsksForMadeUpNames(t *testing.T) {
	watcher := NewWatcher(write(t, process("NSS_SDB_USE_CACHE=no way\x00")))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { watcher.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	command, path := []byte("curl"), []byte("/etc/pki/nssdb/.7_dOeSnotExist_.db")
	watcher.See(1, []byte("find"), []byte("/data/7"))
	watcher.See(4242, command, path)
	want := `{"command":"curl","version":"3.87.1","env":"no way","file_system":"overlay"}`
	for end := time.Now().Add(5 * time.Second); watcher.Told("curl") != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("told %q", watcher.Told("curl"))
		}
	}
	if told := watcher.Told("find"); told != "" {
		t.Errorf("find: %s", told)
	}
	if allocated := testing.AllocsPerRun(100, func() { watcher.Begin(); watcher.See(4242, command, path); watcher.See(1, command, path) }); allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}
