// Package netns runs code inside another process's network namespace.
package netns

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Needs lists what entering a namespace requires, for SourceStatus.
const Needs = "CAP_SYS_ADMIN and CAP_SYS_PTRACE"

// Do runs work on a thread in the network namespace of a process. Sockets that work creates stay in that namespace
// wherever they are used later. The thread is discarded afterwards, so that nothing else ever runs in the namespace.
func Do(proc string, pid int, work func() error) error {
	fd, err := unix.Open(filepath.Join(proc, strconv.Itoa(pid), "ns/net"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("network namespace of process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(fd) }()
	done := make(chan error, 1)
	go onLostThread(func() {
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter the network namespace of process %d: %w", pid, err)
			return
		}
		done <- work()
	})
	return <-done
}

// onLostThread runs work on a thread that ends with this goroutine. The main thread does not end: Go parks it, and its
// namespace is the one that /proc/self shows. While it is held here, work runs on another thread.
func onLostThread(work func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		work()
		return // never unlocked
	}
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		onLostThread(work)
	}()
	<-done
}

// ID returns the inode of the network namespace of a process; two processes with the same one share it.
func ID(proc string, pid string) (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Stat(filepath.Join(proc, pid, "ns/net"), &stat); err != nil {
		return 0, err
	}
	return stat.Ino, nil
}
