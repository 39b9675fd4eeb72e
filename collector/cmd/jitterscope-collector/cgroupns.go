package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// enterNodeCgroupNamespace re-executes the program in the cgroup namespace of process 1 if its own differs, as in a
// container on cgroup v2: there /proc/PID/cgroup shows paths relative to the container's own cgroup ("/../../…"), which
// match nothing below --cgroup-root. It needs CAP_SYS_ADMIN and the node's PID namespace; without them the collector
// continues.
func enterNodeCgroupNamespace(proc string, log *slog.Logger) {
	node := filepath.Join(proc, "1/ns/cgroup")
	var own, wanted unix.Stat_t
	if unix.Stat(filepath.Join(proc, "self/ns/cgroup"), &own) != nil || unix.Stat(node, &wanted) != nil || own.Ino == wanted.Ino {
		return
	}
	fd, err := unix.Open(node, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
		// A cgroup namespace belongs to the thread, and the executed program keeps that of the thread that called exec.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err = unix.Setns(fd, unix.CLONE_NEWCGROUP); err == nil {
			err = unix.Exec("/proc/self/exe", os.Args, os.Environ())
		}
	}
	log.Warn("processes cannot be matched to cgroups outside this container", "error", err,
		"needs", "CAP_SYS_ADMIN and CAP_SYS_PTRACE, or a container in the node's cgroup namespace")
}
