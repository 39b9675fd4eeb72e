package nss

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
)

// Watcher inspects processes that look up made-up names while they live: such a program is often gone within 0.1 s. See
// is for the sampling thread and neither waits nor allocates.
type Watcher struct {
	proc     string
	requests chan request
	known    atomic.Bool // a process of this phase has been fully inspected
	last     uint32      // the last process seen; used only by See
	mutex    sync.Mutex
	found    map[string]Info // by command
}

type request struct {
	pid     uint32
	length  int
	command [16]byte
	path    [256]byte
}

const mostCommands = 8

// NewWatcher inspects processes under proc; Run must be running.
func NewWatcher(proc string) *Watcher {
	return &Watcher{proc: proc, requests: make(chan request, 4), found: make(map[string]Info)}
}

// See handles a failing lookup.
func (w *Watcher) See(pid uint32, command, path []byte) {
	if w.known.Load() || pid == w.last || !bytes.Contains(path, MadeUp) {
		return
	}
	var next request
	next.pid = pid
	copy(next.command[:], command)
	next.length = copy(next.path[:], path)
	select {
	case w.requests <- next:
		w.last = pid
	default: // it is busy with other processes
	}
}

// Begin forgets that a process was fully inspected: another program might probe now, or the same one after an update.
func (w *Watcher) Begin() { w.known.Store(false) }

// Run inspects until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-w.requests:
			w.inspect(&next)
		}
	}
}

func (w *Watcher) inspect(next *request) {
	info, ok := Inspect(w.proc, next.pid, string(next.path[:next.length]))
	if !ok {
		return
	}
	command, _, _ := bytes.Cut(next.command[:], []byte{0})
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if _, again := w.found[string(command)]; again || len(w.found) < mostCommands {
		w.found[string(command)] = info
		w.known.Store(true)
	}
}

// Seen reports whether any program with NSS was inspected.
func (w *Watcher) Seen() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.found) > 0
}

// Told is what is known about a command's NSS, as JSON; empty if nothing is.
func (w *Watcher) Told(command string) string {
	w.mutex.Lock()
	info, ok := w.found[command]
	w.mutex.Unlock()
	if !ok {
		return ""
	}
	text, err := json.Marshal(struct {
		Command string `json:"command"`
		Info
	}{command, info})
	if err != nil {
		return ""
	}
	return string(text)
}
