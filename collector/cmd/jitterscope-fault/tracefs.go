package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const tracing = "/sys/kernel/tracing"

// tracefs returns the root of the kernel's tracing files. If they are not mounted, it is a detached mount that appears
// nowhere in the machine's file tree and disappears on close (fsmount(2)).
func tracefs() (root *os.File, err error) {
	if _, err := os.Stat(filepath.Join(tracing, "events")); err == nil {
		return os.Open(tracing)
	}
	system, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("tracefs cannot be mounted (run as root): %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(system)) }()
	if err := unix.FsconfigCreate(system); err != nil {
		return nil, fmt.Errorf("tracefs cannot be mounted: %w", err)
	}
	mount, err := unix.Fsmount(system, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("tracefs cannot be mounted: %w", err)
	}
	return os.NewFile(uintptr(mount), tracing), nil
}
