package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// enterNodeCgroupNamespace starts the program again in the cgroup namespace of process 1, where it has another one, as in a
// container on cgroup v2: /proc/PID/cgroup there tells paths relative to the container's own cgroup ("/../../…"), which fit
// nothing below --cgroup-root. Needs CAP_SYS_ADMIN, and the node's PID namespace; without them the collector goes on.
func enterNodeCgroupNamespace(proc string, log *slog.Logger) {
	node := filepath.Join(proc, "1/ns/cgroup")
	var own, wanted unix.Stat_t
	if unix.Stat(filepath.Join(proc, "self/ns/cgroup"), &own) != nil || unix.Stat(node, &wanted) != nil || own.Ino == wanted.Ino {
		return
	}
	fd, err := unix.Open(node, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
		// The namespace is the thread's, and a program keeps that of the thread which started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err = unix.Setns(fd, unix.CLONE_NEWCGROUP); err == nil {
			err = unix.Exec("/proc/self/exe", os.Args, os.Environ())
		}
	}
	log.Warn("processes cannot be matched to cgroups outside this container", "error", err,
		"needs", "CAP_SYS_ADMIN and CAP_SYS_PTRACE, or a container in the node's cgroup namespace")
}
