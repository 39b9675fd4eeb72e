package procwatch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// Limit is the maximum number of watched processes; DNS servers come first, then those with a CPU limit.
const Limit = 128

const (
	freshFor = 500 * time.Millisecond // several sources call Refresh in one round of discovery
	// A young process is examined in every scan, because it can execute another program, be moved to another cgroup or
	// open port 53; later after 1, 2, 4 … seconds, an old one every 30 s or when the kernel reports that cgroups
	// changed.
	youngFor     = 10 * time.Second
	recheckYoung = 500 * time.Millisecond
	recheckMost  = 30 * time.Second
	placeWithin  = 3 * time.Second // if the cgroup of a process is not found by then, it is shown below the node until it is
	// A process that listens and has no limit is watched from this age on: children that serve one connection hold the
	// socket too.
	settledFor = 2 * time.Second
)

// Watcher scans /proc. All methods can be called by any goroutine; changes are reported one after another.
type Watcher struct {
	registry *sampler.Registry
	quotas   *quotas
	sockets  sockets

	mu          sync.Mutex
	scanned     time.Time
	cgroups     uint64 // epoch of limits and moves at the last scan
	known       map[int]*known
	watched     map[int]*Process
	shed        int
	subscribers []Change
}

// Change is called with processes that appeared and vanished. The resources of the vanished ones are released
// afterwards.
type Change func(added, removed []*Process)

type known struct {
	startTicks uint64
	found      time.Time
	checked    time.Time
	interval   time.Duration
	unplaced   time.Time // since when its cgroup has been awaited
	below      bool      // it is shown below the node, because its cgroup was not found
	candidate  *Process  // nil: not worth watching
	rank       int
	command    string
	parent     int
	fork       bool // of a DNS server, see isFork
	forks      bool // it creates such children
	sockets    held
	hidden     bool // its program could not be read
}

// Shared returns the watcher of the registry's engine.
func Shared(registry *sampler.Registry) *Watcher {
	return registry.Shared("procwatch", func() any { return newWatcher(registry) }).(*Watcher)
}

func newWatcher(registry *sampler.Registry) *Watcher {
	return &Watcher{
		registry: registry, quotas: newQuotas(registry),
		sockets: newSockets(registry.Roots.Proc),
		known:   make(map[int]*known), watched: make(map[int]*Process),
	}
}

// Subscribe registers change; it is first called with all watched processes.
func (w *Watcher) Subscribe(change Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subscribers = append(w.subscribers, change)
	if len(w.watched) > 0 {
		change(w.list(), nil)
	}
}

// Processes lists the watched processes, ordered by PID.
func (w *Watcher) Processes() []*Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list()
}

// Shed is how many processes worth watching exceed Limit.
func (w *Watcher) Shed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shed
}

// Hidden is how many processes have programs that this process must not read.
func (w *Watcher) Hidden() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, k := range w.known {
		if k.hidden {
			count++
		}
	}
	return count
}

func (w *Watcher) list() []*Process {
	all := make([]*Process, 0, len(w.watched))
	for _, process := range w.watched {
		all = append(all, process)
	}
	slices.SortFunc(all, func(a, b *Process) int { return a.PID - b.PID })
	return all
}

// Refresh scans if the last scan is not fresh. Sources call it from Discover.
func (w *Watcher) Refresh(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if now.Sub(w.scanned) < freshFor {
		return
	}
	w.scanned = now
	pids, err := PIDs(w.registry.Roots.Proc)
	if err != nil {
		w.registry.Log.Warn("reading /proc failed", "error", err)
		return
	}
	w.recheck()
	present := make(map[int]struct{}, len(pids))
	for _, pid := range pids {
		if ctx.Err() != nil {
			return
		}
		present[pid] = struct{}{}
		w.check(pid, now)
	}
	for pid := range w.known {
		if _, ok := present[pid]; !ok {
			delete(w.known, pid)
		}
	}
	w.choose()
}

// recheck makes all processes due if cgroups appeared, or received limits or processes.
func (w *Watcher) recheck() {
	cgroups := w.registry.CgroupEpoch() + w.registry.CgroupMoves()
	grown := w.quotas.takeGrown()
	for _, k := range w.known {
		if grown {
			k.interval = recheckYoung // a process might be about to move in
		}
		if grown || cgroups != w.cgroups {
			k.checked = time.Time{}
		}
	}
	w.cgroups = cgroups
}

// check examines a process if it is new or due.
func (w *Watcher) check(pid int, now time.Time) {
	k := w.known[pid]
	if k != nil && k.candidate == nil && now.Sub(k.checked) < k.interval {
		return
	}
	stat, ok := readStat(w.registry.Roots.Proc, pid)
	if !ok {
		delete(w.known, pid)
		return
	}
	if k == nil || k.startTicks != stat.startTicks {
		k = &known{startTicks: stat.startTicks, found: now, interval: recheckYoung}
		w.known[pid] = k
	} else if now.Sub(k.checked) < k.interval {
		return
	}
	k.checked = now
	if now.Sub(k.found) > youngFor {
		k.interval = min(2*k.interval, recheckMost)
	}
	if k.command != stat.command { // another program
		k.command, k.fork, k.forks, k.sockets = stat.command, false, false, held{}
	}
	if k.parent = stat.parent; w.isFork(pid, k) {
		k.candidate, k.interval = nil, recheckMost
		return
	}
	process, rank := w.examine(pid, stat, k, now)
	if old := k.candidate; old == nil || process == nil || !old.same(process) {
		k.candidate = process
	}
	k.rank = rank
}

func (p *Process) same(other *Process) bool {
	return p.StartTicks == other.StartTicks && p.Executable == other.Executable && p.Cgroup == other.Cgroup && p.DNS == other.DNS
}

// examine decides whether a process is worth watching; a lower rank is worth more.
func (w *Watcher) examine(pid int, stat status, k *known, now time.Time) (*Process, int) {
	proc, old := w.registry.Roots.Proc, k.candidate
	directory := filepath.Join(proc, strconv.Itoa(pid))
	target, err := os.Readlink(directory + "/exe")
	refused := errors.Is(err, fs.ErrPermission)
	k.hidden = refused && pid != 1 // init can have capabilities that no other process has, and is no server
	if err != nil && !refused {
		return nil, 0 // a kernel thread, or already gone
	}
	text, err := os.ReadFile(directory + "/cgroup")
	if err != nil {
		return nil, 0
	}
	process := &Process{
		PID: pid, StartTicks: stat.startTicks, Command: stat.command, Cgroup: CgroupOf(text), NetworkNS: NetworkNS(proc, pid),
		Executable: filepath.Base(strings.TrimSuffix(target, " (deleted)")), Resource: batch.NoResource,
	}
	if target == "" {
		process.Executable = stat.command
	}
	if w.registry.IsSandbox(process.Cgroup) {
		return nil, 0 // its pod's limit is not its own
	}
	process.DNS = serverName(process.Executable, nil)
	k.sockets = w.sockets.of(pid, process.NetworkNS, k.sockets)
	if process.DNS == "" && k.sockets.port53 {
		process.DNS = process.Executable
	}
	serves := k.sockets.onTCP && now.Sub(k.found) >= settledFor
	limited := w.quotas.limited(process.Cgroup)
	if old != nil && old.same(process) {
		process.Go = old.Go
	} else if process.DNS != "" || limited || serves || inContainer(process.Cgroup) {
		if info, err := goruntime.ReadInfo(directory + "/exe"); err == nil {
			process.Go = &info
		}
	}
	if process.DNS == "" {
		process.DNS = serverName(process.Executable, process.Go)
	}
	switch {
	case process.DNS != "":
		return process, 0
	case limited && process.Go != nil:
		return process, 1
	case limited:
		return process, 2
	case serves:
		return process, 3
	case process.Go != nil && inContainer(process.Cgroup):
		return process, 4
	}
	return nil, 0
}
