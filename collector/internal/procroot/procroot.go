// Package procroot reads files as another process sees them, in its own root directory, and connects to sockets there.
// Content that a container controls cannot lead outside of it: symbolic links stay inside, and only regular files are
// read.
package procroot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// ReadFile reads up to limit bytes of a file by its path inside the root of a process. A relative path starts at the
// working directory of the process. It needs permission to ptrace the process.
func ReadFile(proc string, pid int, path string, limit int64) ([]byte, error) {
	file, err := Open(proc, pid, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, limit))
}

// Open opens a regular file as ReadFile does.
func Open(proc string, pid int, path string) (*os.File, error) {
	file, info, err := open(proc, pid, path, 0)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s of process %d is not a regular file", path, pid), file.Close())
	}
	return file, nil
}

// Stat returns the current state of a file, found as ReadFile finds it.
func Stat(proc string, pid int, path string) (os.FileInfo, error) {
	file, info, err := open(proc, pid, path, 0)
	if err != nil {
		return nil, err
	}
	return info, file.Close()
}

// List returns the names in a directory, at most limit.
func List(proc string, pid int, path string, limit int) ([]string, error) {
	directory, _, err := open(proc, pid, path, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = directory.Close() }()
	names, err := directory.Readdirnames(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// Dial connects to a Unix socket, found as ReadFile finds a file.
func Dial(ctx context.Context, proc string, pid int, path string) (net.Conn, error) {
	fd, err := find(proc, pid, path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return (&net.Dialer{}).DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(fd))
}

func open(proc string, pid int, path string, flags uint64) (*os.File, os.FileInfo, error) {
	fd, err := find(proc, pid, path, flags|unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY) // a pipe must not block
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(fd), path)
	info, err := file.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func find(proc string, pid int, path string, flags uint64) (int, error) {
	directory := filepath.Join(proc, strconv.Itoa(pid))
	if !filepath.IsAbs(path) {
		working, err := os.Readlink(filepath.Join(directory, "cwd"))
		if err != nil {
			return -1, err
		}
		path = filepath.Join(working, path)
	}
	root, err := unix.Open(filepath.Join(directory, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("root of process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(root) }()
	fd, err := unix.Openat2(root, path, &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // before Linux 5.6, or a seccomp filter that does not know the call
		fd, err = openPlainly(root, path, flags)
	}
	if err != nil {
		return -1, fmt.Errorf("%s of process %d: %w", path, pid, err)
	}
	return fd, nil
}

// openPlainly follows no symbolic links at all.
func openPlainly(root int, path string, flags uint64) (int, error) {
	at, err := unix.Dup(root)
	if err != nil {
		return -1, err
	}
	elements := splitPath(path)
	for i, element := range elements {
		how := int(flags)
		if i < len(elements)-1 {
			how = unix.O_PATH | unix.O_DIRECTORY
		}
		next, err := unix.Openat(at, element, how|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		_ = unix.Close(at)
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

func splitPath(path string) (elements []string) {
	for path = filepath.Clean("/" + path); path != "/"; path = filepath.Dir(path) {
		elements = append([]string{filepath.Base(path)}, elements...)
	}
	return elements
}
