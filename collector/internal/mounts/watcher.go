package mounts

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/pollstop"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

// Unmount is a mount that disappeared.
type Unmount struct {
	Gone
	StartUS    int64 // since the Unix epoch
	DurationUS int64 // how long dentries were freed because of it; 0: too short to be seen
	Dentries   int64 // freed
	Command    string
	PID        int // of the process that used the most system time meanwhile; 0: too short to be seen
}

// Watcher waits for unmounts. The kernel reports that the mount table changed; nothing is traced.
type Watcher struct {
	proc   string
	path   string
	table  int // an open mountinfo, used only for waiting: each open file reports a change once
	state  procfs.Held
	stop   *pollstop.Stop
	mounts map[int]Mount
}

const (
	lookEvery = 20 * time.Millisecond
	restFor   = 100 * time.Millisecond // between two reads of the table, which can be long
	// A kernel frees about a million dentries per second. Anything slower also happens without an unmount.
	fallPerLook = 2_000
	calmLooks   = 3
	patience    = time.Second // some file systems visit all names first (tmpfs)
	fallAtMost  = 2 * time.Minute
	culpritFrom = 100 * time.Millisecond // after this long, find out which process it is, over the same time again
)

// Open starts watching the mounts that the node's first process sees or, if those are not accessible, those of this
// process.
func Open(proc string) (*Watcher, error) {
	w := &Watcher{proc: proc, path: proc + "/1/mountinfo"}
	var err error
	if w.table, err = unix.Open(w.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		w.path = proc + "/self/mountinfo"
		if w.table, err = unix.Open(w.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return nil, &os.PathError{Op: "open", Path: w.path, Err: err}
		}
	}
	if w.stop, err = pollstop.New(); err != nil {
		w.Close()
		return nil, err
	}
	w.state = procfs.HoldIfExists(proc + "/sys/fs/dentry-state")
	if w.mounts, err = w.read(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *Watcher) read() (map[int]Mount, error) {
	text, err := os.ReadFile(w.path)
	return Parse(string(text)), err
}

// Run calls take with every unmount until ctx ends: at once, or when the dentries are gone if that takes long.
func (w *Watcher) Run(ctx context.Context, take func(Unmount)) {
	defer w.stop.When(ctx)()
	descriptors := []unix.PollFd{{Fd: int32(w.table), Events: unix.POLLPRI}, w.stop.Poll()}
	var fall *fall
	var looked time.Time
	changed := false
	for ctx.Err() == nil {
		timeout := -1
		if changed || fall != nil {
			timeout = int(lookEvery.Milliseconds())
		}
		if _, err := unix.Poll(descriptors, timeout); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		now := time.Now()
		changed = changed || descriptors[0].Revents&(unix.POLLPRI|unix.POLLERR) != 0
		if changed && now.Sub(looked) >= restFor {
			changed, looked = false, now
			fall = w.compare(now, fall, take)
		}
		if fall != nil && fall.look(w, now) {
			fall.tell(take)
			fall = nil
		}
	}
}

// compare reports mounts that are gone. The last mount of a file system is reported later, by the fall.
func (w *Watcher) compare(now time.Time, fall *fall, take func(Unmount)) *fall {
	mounts, err := w.read()
	if err != nil {
		return fall
	}
	for _, gone := range Compare(w.mounts, mounts) {
		unmount := Unmount{Gone: gone, StartUS: now.UnixMicro()}
		if !gone.Last {
			take(unmount)
			continue
		}
		if fall == nil {
			fall = w.newFall(now)
		}
		fall.unmounts = append(fall.unmounts, unmount)
	}
	w.mounts = mounts
	return fall
}

// Close closes the watcher; Run must have returned.
func (w *Watcher) Close() {
	_ = unix.Close(w.table)
	w.state.Close()
	if w.stop != nil {
		w.stop.Close()
	}
}
