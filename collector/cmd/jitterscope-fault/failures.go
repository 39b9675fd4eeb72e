package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// failures counts, in the kernel, the system calls of this thread and of every process it starts that failed because a
// file does not exist.
type failures struct{ fds []int }

// The system calls that programs use to look up files; those that this architecture lacks have no tracepoint.
var lookupCalls = []string{"access", "faccessat", "faccessat2", "newfstatat", "newstat", "newlstat", "openat", "open", "statx"}

func countFailures() (*failures, error) {
	root, err := tracefs()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var made failures
	for _, call := range lookupCalls {
		id, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d/events/syscalls/sys_exit_%s/id", root.Fd(), call))
		if err != nil {
			continue
		}
		fd, err := openCounter(strings.TrimSpace(string(id)))
		if err != nil {
			made.close()
			return nil, fmt.Errorf("counting failing calls of %s: %w", call, err)
		}
		made.fds = append(made.fds, fd)
	}
	if len(made.fds) == 0 {
		return nil, errors.New("the kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)")
	}
	return &made, nil
}

func openCounter(id string) (int, error) {
	number, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return -1, err
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: number, Bits: unix.PerfBitInherit}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	filter, err := unix.BytePtrFromString(fmt.Sprintf("ret == %d", -int(unix.ENOENT)))
	if err == nil {
		_, _, number := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_SET_FILTER, uintptr(unsafe.Pointer(filter)))
		if number != 0 {
			err = number
		}
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// read returns the total so far, for processes that exited and those still running.
func (f *failures) read() (uint64, error) {
	var total uint64
	var value [8]byte
	for _, fd := range f.fds {
		if _, err := unix.Read(fd, value[:]); err != nil {
			return 0, fmt.Errorf("reading a counter: %w", err)
		}
		total += binary.NativeEndian.Uint64(value[:])
	}
	return total, nil
}

func (f *failures) close() {
	for _, fd := range f.fds {
		_ = unix.Close(fd)
	}
}
