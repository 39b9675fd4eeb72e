package procroot

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// fakeProcess creates /proc/7 for a process with its own root, next to which there is a secret.
func fakeProcess(t *testing.T) (proc, root string) {
	t.Helper()
	top := t.TempDir()
	proc, root = filepath.Join(top, "proc"), filepath.Join(top, "container")
	for _, directory := range []string{filepath.Join(proc, "7"), filepath.Join(root, "etc"), filepath.Join(top, "etc")} {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(root, filepath.Join(proc, "7", "root")))
	must(os.Symlink("/etc", filepath.Join(proc, "7", "cwd")))
	must(os.WriteFile(filepath.Join(top, "secret"), []byte("secret"), 0o600))
	must(os.WriteFile(filepath.Join(root, "etc", "plain"), []byte("plain text"), 0o600))
	must(os.Symlink("/etc/plain", filepath.Join(root, "etc", "inside")))
	must(os.Symlink("../../../../../secret", filepath.Join(root, "etc", "relative")))
	must(os.Symlink(filepath.Join(top, "secret"), filepath.Join(root, "etc", "absolute")))
	must(unix.Mkfifo(filepath.Join(root, "etc", "pipe"), 0o600))
	return proc, root
}

func TestFilesStayInside(t *testing.T) {
	proc, _ := fakeProcess(t)
	for path, want := range map[string]string{
		"/etc/plain": "plain text", "plain": "plain text", "/etc/inside": "plain text", "/../../etc/plain": "plain text",
		"/etc/relative": "", "/etc/absolute": "", "/etc/pipe": "", "/etc": "", "/secret": "", "../../../secret": "", "/etc/none": "",
	} {
		text, err := ReadFile(proc, 7, path, 100)
		if string(text) != want || (want == "") != (err != nil) {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if text, err := ReadFile(proc, 7, "/etc/plain", 5); string(text) != "plain" || err != nil {
		t.Errorf("limited: %q, %v", text, err)
	}
	if names, err := List(proc, 7, "/etc", 100); len(names) != 5 || err != nil {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := ReadFile(proc, 8, "/etc/plain", 100); err == nil {
		t.Error("there is no process 8")
	}
}

// TestOldKernelsFollowNoLinks tests the fallback without openat2.
func TestOldKernelsFollowNoLinks(t *testing.T) {
	_, path := fakeProcess(t)
	root, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(root) }()
	for path, want := range map[string]bool{"/etc/plain": true, "/etc/../etc/plain": true, "/etc/inside": false, "/etc/relative": false} {
		fd, err := openPlainly(root, path, 0)
		if (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			_ = unix.Close(fd)
		}
	}
}

func TestSocketsStayInside(t *testing.T) {
	proc, root := fakeProcess(t)
	for path, where := range map[string]string{"/etc/socket": root, "/outside": filepath.Dir(root)} {
		listener, err := net.Listen("unix", filepath.Join(where, path))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		connection, err := Dial(t.Context(), proc, 7, path)
		if inside := where == root; inside != (err == nil) {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			_ = connection.Close()
		}
	}
	if _, err := Dial(t.Context(), proc, 7, "/etc/plain"); err == nil {
		t.Error("a file is no socket")
	}
}
