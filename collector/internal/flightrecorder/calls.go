package flightrecorder

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// callNames are the system calls in which threads usually sleep, by number; others are told by their number. Those that
// only some architectures have are in calls_ARCH.go.
var callNames = map[int32]string{
	unix.SYS_ACCEPT: "accept", unix.SYS_ACCEPT4: "accept4", unix.SYS_CLOCK_NANOSLEEP: "clock_nanosleep",
	unix.SYS_CLOSE: "close", unix.SYS_CONNECT: "connect", unix.SYS_EPOLL_PWAIT: "epoll_pwait",
	unix.SYS_EPOLL_PWAIT2: "epoll_pwait2", unix.SYS_FALLOCATE: "fallocate", unix.SYS_FCNTL: "fcntl",
	unix.SYS_FDATASYNC: "fdatasync", unix.SYS_FLOCK: "flock", unix.SYS_FSYNC: "fsync",
	unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FUTEX: "futex", unix.SYS_FUTEX_WAITV: "futex_waitv",
	unix.SYS_GETDENTS64: "getdents64", unix.SYS_IO_GETEVENTS: "io_getevents", unix.SYS_IO_SUBMIT: "io_submit",
	unix.SYS_IO_URING_ENTER: "io_uring_enter", unix.SYS_MADVISE: "madvise", unix.SYS_MMAP: "mmap",
	unix.SYS_MPROTECT: "mprotect", unix.SYS_MSYNC: "msync", unix.SYS_MUNMAP: "munmap",
	unix.SYS_NANOSLEEP: "nanosleep", unix.SYS_NEWFSTATAT: "newfstatat", unix.SYS_OPENAT: "openat",
	unix.SYS_PPOLL: "ppoll", unix.SYS_PREAD64: "pread64", unix.SYS_PREADV: "preadv", unix.SYS_PREADV2: "preadv2",
	unix.SYS_PSELECT6: "pselect6", unix.SYS_PWRITE64: "pwrite64", unix.SYS_PWRITEV: "pwritev",
	unix.SYS_PWRITEV2: "pwritev2", unix.SYS_READ: "read", unix.SYS_READV: "readv", unix.SYS_RECVFROM: "recvfrom",
	unix.SYS_RECVMMSG: "recvmmsg", unix.SYS_RECVMSG: "recvmsg", unix.SYS_RENAMEAT: "renameat",
	unix.SYS_RENAMEAT2: "renameat2", unix.SYS_RT_SIGSUSPEND: "rt_sigsuspend",
	unix.SYS_RT_SIGTIMEDWAIT: "rt_sigtimedwait", unix.SYS_SENDFILE: "sendfile", unix.SYS_SENDMMSG: "sendmmsg",
	unix.SYS_SENDMSG: "sendmsg", unix.SYS_SENDTO: "sendto", unix.SYS_STATX: "statx", unix.SYS_SYNC: "sync",
	unix.SYS_SYNC_FILE_RANGE: "sync_file_range", unix.SYS_SYNCFS: "syncfs", unix.SYS_UNLINKAT: "unlinkat",
	unix.SYS_WAIT4: "wait4", unix.SYS_WAITID: "waitid", unix.SYS_WRITE: "write", unix.SYS_WRITEV: "writev",
}

// callName is the name of a system call, "" if the thread is in none, "?" if it is not known.
func callName(number int32) string {
	switch number {
	case noCall:
		return ""
	case unknownCall:
		return "?"
	}
	if name, ok := callNames[number]; ok {
		return name
	}
	if name, ok := legacyCalls[number]; ok {
		return name
	}
	return "system call " + strconv.Itoa(int(number))
}

// tellsItself reports whether the kernel stack of a thread that sleeps in this call adds nothing.
func tellsItself(number int32) bool {
	switch number {
	case unix.SYS_FUTEX, unix.SYS_FUTEX_WAITV, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_PPOLL, unix.SYS_PSELECT6,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_WAIT4, unix.SYS_RT_SIGTIMEDWAIT:
		return true
	}
	_, legacy := legacyCalls[number]
	return legacy
}
