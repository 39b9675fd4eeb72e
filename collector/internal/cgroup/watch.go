package cgroup

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Watcher detects by inotify that cgroups appeared or disappeared or that a limit was written, so that the tree need
// not be walked every second. The kernel reports what user space does to the files, which is how limits change.
type Watcher struct {
	file       *os.File
	fd         int
	changed    chan struct{}
	moves      atomic.Uint64
	incomplete atomic.Bool
}

// NewWatcher starts a Watcher.
func NewWatcher() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	w := &Watcher{file: os.NewFile(uintptr(fd), "inotify"), fd: fd, changed: make(chan struct{}, 1)}
	go w.read()
	return w, nil
}

// Add watches a directory. Adding it again is harmless.
func (w *Watcher) Add(directory string) {
	const mask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_ONLYDIR
	if _, err := unix.InotifyAddWatch(w.fd, directory, mask); err != nil && err != unix.ENOENT {
		w.incomplete.Store(true) // out of watches (fs.inotify.max_user_watches): the caller polls
	}
}

// Complete reports whether all directories could be watched.
func (w *Watcher) Complete() bool { return !w.incomplete.Load() }

// Changed receives after cgroups or limits changed; changes in quick succession are reported once.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Moves grows whenever processes might have been moved from one cgroup to another. A process created in its cgroup
// (clone3) is not counted.
func (w *Watcher) Moves() uint64 { return w.moves.Load() }

// Close stops the Watcher.
func (w *Watcher) Close() { _ = w.file.Close() }

func (w *Watcher) read() {
	buffer := make([]byte, 16<<10)
	for {
		n, err := w.file.Read(buffer)
		if err != nil {
			return
		}
		limits, moved := relevant(buffer[:n])
		if moved {
			w.moves.Add(1)
		}
		if limits {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
	}
}

// relevant reports whether the events could have changed the tree or a limit, and whether processes were moved.
func relevant(events []byte) (changed, moved bool) {
	for len(events) >= unix.SizeofInotifyEvent {
		event := (*unix.InotifyEvent)(unsafe.Pointer(&events[0]))
		length := unix.SizeofInotifyEvent + int(event.Len)
		if length > len(events) || event.Mask&unix.IN_Q_OVERFLOW != 0 {
			return true, true
		}
		name := strings.TrimRight(string(events[unix.SizeofInotifyEvent:length]), "\x00")
		changed = changed || event.Mask&unix.IN_MODIFY == 0 || IsLimit(name)
		moved = moved || (event.Mask&unix.IN_MODIFY != 0 && (name == "cgroup.procs" || name == "tasks"))
		events = events[length:]
	}
	return changed, moved
}

// IsLimit reports whether a file of a cgroup holds a limit that becomes a fact, or enables controllers.
func IsLimit(name string) bool {
	switch name {
	case "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us", "cpu.max", "cpu.max.burst", "cpu.shares", "cpu.weight", "cpu.weight.nice",
		"cpu.idle", "memory.limit_in_bytes", "memory.max", "memory.high", "cgroup.subtree_control", "io.max", "blkio.throttle.read_bps_device",
		"blkio.throttle.write_bps_device", "blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device":
		return true
	}
	return false
}
