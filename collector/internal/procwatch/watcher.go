package procwatch

import (
	"context"
	"errors"
	"io"
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
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// Limit is how many processes are watched at most; DNS servers come first, then those with a CPU limit.
const Limit = 64

const (
	freshFor = 500 * time.Millisecond // several sources call Refresh in one round of discovery
	// A new process is looked at again after 1, 2, 4 … seconds, as it may execute another program or be moved to
	// another cgroup; an old one every 30 s.
	recheckMost = 30 * time.Second
)

// Watcher scans /proc. All methods may be called by any goroutine; changes are told one after the other.
type Watcher struct {
	registry *sampler.Registry
	quotas   *quotas
	port53   port53

	mu          sync.Mutex
	scanned     time.Time
	known       map[int]*known
	watched     map[int]*Process
	shed        int
	subscribers []Change
}

// Change is told of processes that appeared and vanished. The resources of the vanished are released afterwards.
type Change func(added, removed []*Process)

type known struct {
	startTicks uint64
	checked    time.Time
	interval   time.Duration
	candidate  *Process // nil: not worth watching
	rank       int
}

// Shared returns the watcher of the registry's engine.
func Shared(registry *sampler.Registry) *Watcher {
	return registry.Shared("procwatch", func() any { return newWatcher(registry) }).(*Watcher)
}

func newWatcher(registry *sampler.Registry) *Watcher {
	return &Watcher{
		registry: registry, quotas: newQuotas(registry),
		port53: port53{proc: registry.Roots.Proc, byNamespace: make(map[uint64]bound)},
		known:  make(map[int]*known), watched: make(map[int]*Process),
	}
}

// Subscribe has change called, first with all that are watched.
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

// Shed is how many processes were worth watching beyond Limit.
func (w *Watcher) Shed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shed
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
	pids, err := pids(w.registry.Roots.Proc)
	if err != nil {
		w.registry.Log.Warn("reading /proc failed", "error", err)
		return
	}
	if w.quotas.takeGrown() {
		for _, k := range w.known {
			k.checked, k.interval = time.Time{}, time.Second/2
		}
	}
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

// check looks at a process if it is new or due.
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
		k = &known{startTicks: stat.startTicks, interval: time.Second / 2}
		w.known[pid] = k
	} else if now.Sub(k.checked) < k.interval {
		return
	}
	k.checked, k.interval = now, min(2*k.interval, recheckMost)
	process, rank := w.examine(pid, stat, k.candidate)
	if old := k.candidate; old == nil || process == nil || !old.same(process) {
		k.candidate = process
	}
	k.rank = rank
}

func (p *Process) same(other *Process) bool {
	return p.StartTicks == other.StartTicks && p.Executable == other.Executable && p.Cgroup == other.Cgroup && p.DNS == other.DNS
}

// examine decides whether a process is worth watching; a lower rank is worth more.
func (w *Watcher) examine(pid int, stat status, old *Process) (*Process, int) {
	proc := w.registry.Roots.Proc
	directory := filepath.Join(proc, strconv.Itoa(pid))
	target, err := os.Readlink(directory + "/exe")
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, 0 // a kernel thread, or gone
	}
	text, err := os.ReadFile(directory + "/cgroup")
	if err != nil {
		return nil, 0
	}
	process := &Process{
		PID: pid, StartTicks: stat.startTicks, Command: stat.command, Cgroup: cgroupOf(text), NetworkNS: networkNS(proc, pid),
		Executable: filepath.Base(strings.TrimSuffix(target, " (deleted)")), Resource: batch.NoResource,
	}
	if target == "" {
		process.Executable = stat.command
	}
	process.DNS = serverName(process.Executable, nil)
	if process.DNS == "" && w.port53.ownedBy(pid, process.NetworkNS) {
		process.DNS = process.Executable
	}
	limited := w.quotas.limited(process.Cgroup)
	if old != nil && old.same(process) {
		process.Go = old.Go
	} else if process.DNS != "" || limited || inContainer(process.Cgroup) {
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
	case process.Go != nil && inContainer(process.Cgroup):
		return process, 3
	}
	return nil, 0
}

// choose decides which candidates are watched and tells of the changes.
func (w *Watcher) choose() {
	var candidates []*known
	for _, k := range w.known {
		if k.candidate != nil {
			candidates = append(candidates, k)
		}
	}
	slices.SortFunc(candidates, func(a, b *known) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return a.candidate.PID - b.candidate.PID
	})
	w.shed = max(0, len(candidates)-Limit)
	chosen := make(map[int]*Process, len(candidates))
	var added, removed []*Process
	for _, k := range candidates[:min(len(candidates), Limit)] {
		chosen[k.candidate.PID] = k.candidate
	}
	for pid, process := range w.watched {
		if chosen[pid] != process {
			removed = append(removed, process)
			delete(w.watched, pid)
		}
	}
	for pid, process := range chosen {
		if w.watched[pid] == nil && w.addResource(process, removed) {
			w.watched[pid] = process
			added = append(added, process)
		}
	}
	if len(added)+len(removed) == 0 {
		return
	}
	slices.SortFunc(added, func(a, b *Process) int { return a.PID - b.PID })
	for _, change := range w.subscribers {
		change(added, removed)
	}
	for _, process := range removed {
		w.registry.Remove(process.Resource)
	}
}

// addResource waits a round where the former resource of the same key is still to be released, or the cgroup is still to
// be discovered.
func (w *Watcher) addResource(process *Process, removed []*Process) bool {
	for _, old := range removed {
		if old.PID == process.PID {
			return false
		}
	}
	parent := batch.Node
	if group, ok := w.registry.Cgroup(process.Cgroup); ok {
		parent = group.Resource
	} else if k := w.known[process.PID]; process.Cgroup != "/" && time.Since(k.checked) < 3*time.Second && k.interval <= 2*time.Second {
		return false
	}
	process.Resource = w.registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_PROCESS, process.Key(), parent)
	return process.Resource != batch.NoResource
}

func pids(proc string) ([]int, error) {
	handle, err := os.Open(proc)
	if err != nil {
		return nil, err
	}
	defer func() { _ = handle.Close() }()
	var found []int
	for {
		names, err := handle.Readdirnames(512)
		for _, name := range names {
			if name[0] >= '1' && name[0] <= '9' {
				if pid, err := strconv.Atoi(name); err == nil {
					found = append(found, pid)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
