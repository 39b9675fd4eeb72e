package flightrecorder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
)

// Recorder records. Only one goroutine uses it, except for Waits.
type Recorder struct {
	sys       string
	size      Size
	rings     []*ring
	online    string
	failed    error // why a CPU is not sampled
	store     *store
	processes *processes
	waits     *Waits
	clock     bpf.Clock
	counts    map[int32]int // samples per process since the process table was read
	nowUS     int64         // of the drain
	stats     Stats
}

// Stats count since the start; read them with atomic loads.
type Stats struct {
	Samples, Lost atomic.Uint64
	RingBytes     atomic.Int64 // of the rings' buffers, all CPUs
}

// New creates a Recorder that reads processes below proc and the list of CPUs below sys.
func New(proc, sys string) *Recorder {
	r := &Recorder{sys: sys, processes: newProcesses(proc), waits: NewWaits(proc), counts: make(map[int32]int)}
	cpus := runtime.NumCPU() // those available to this process
	if _, online, err := r.cpus(); err == nil {
		cpus = len(online)
	}
	r.size = SizeFor(cpus)
	r.store = newStore(r.size)
	return r
}

// Stats returns the counters.
func (r *Recorder) Stats() *Stats { return &r.stats }

// Waits is what threads of servers waited in. It can be used by another goroutine.
func (r *Recorder) Waits() *Waits { return r.waits }

// Open starts sampling the CPUs that are online and not sampled yet. The kernel has already closed the events of those
// that went offline; their rings are released. Call it again periodically.
func (r *Recorder) Open() error {
	online, cpus, err := r.cpus()
	if err != nil || online == r.online {
		return errors.Join(err, r.failed)
	}
	r.online, r.failed = online, nil
	wanted := make(map[int]bool, len(cpus))
	for _, cpu := range cpus {
		wanted[cpu] = true
	}
	var rings []*ring
	for _, old := range r.rings {
		if wanted[old.cpu] {
			rings = append(rings, old)
			delete(wanted, old.cpu)
		} else {
			r.drainOne(old)
			old.close()
		}
	}
	for _, cpu := range cpus {
		if !wanted[cpu] {
			continue
		}
		opened, err := openRing(cpu, r.size.Ring)
		switch {
		case err == nil:
			rings = append(rings, opened)
		case errors.Is(err, unix.ENODEV): // it just went offline
		default:
			if r.failed == nil { // the others fail in the same way
				r.failed = fmt.Errorf("CPU %d: %w", cpu, err)
			}
		}
		if r.failed != nil && len(rings) == 0 {
			break
		}
	}
	r.rings = rings
	total := 0
	for _, each := range rings {
		total += len(each.memory)
	}
	r.stats.RingBytes.Store(int64(total))
	return r.failed
}

// cpus reads which CPUs are online.
func (r *Recorder) cpus() (text string, cpus []int, err error) {
	raw, err := os.ReadFile(filepath.Join(r.sys, "devices/system/cpu/online"))
	if err != nil {
		return "", nil, err
	}
	text = strings.TrimSpace(string(raw))
	cpus, err = parseCPUs(text)
	return text, cpus, err
}

// Sampled is how many CPUs are sampled.
func (r *Recorder) Sampled() int { return len(r.rings) }

// RingBytes is the intended size of each CPU's ring, and the smallest actual one.
func (r *Recorder) RingBytes() (wanted, least int) {
	least = r.size.Ring
	for _, each := range r.rings {
		least = min(least, len(each.data))
	}
	return r.size.Ring, least
}

// Drain takes what the kernel has recorded.
func (r *Recorder) Drain(nowUS int64) {
	r.nowUS = nowUS
	r.clock.Set()
	for _, each := range r.rings {
		r.drainOne(each)
	}
	r.stats.Lost.Store(r.store.lost)
}

func (r *Recorder) drainOne(from *ring) {
	lastUS := r.nowUS // time of the last sample of this ring
	from.drain(func(kind uint32, body []byte) {
		switch kind {
		case unix.PERF_RECORD_SAMPLE:
			s, ok := parseSample(body)
			if !ok || s.pid < 0 || len(s.kernel)+len(s.user) == 0 {
				return
			}
			us := r.clock.NS(s.monotonicNS) / 1000
			lastUS = us
			r.store.add(us, from.cpu, s.pid, s.kernel, s.user)
			r.stats.Samples.Add(1)
			if s.pid > 0 && (len(r.counts) < namesMost || r.counts[s.pid] > 0) {
				r.counts[s.pid]++
			}
		case unix.PERF_RECORD_COMM:
			if pid, name, ok := parseComm(body); ok {
				r.processes.named(pid, name, r.nowUS)
			}
		case unix.PERF_RECORD_LOST:
			r.store.lose(lastUS, parseLost(body)) // they would have followed it
		}
	})
}

// Table adds the rows of this second to the process table.
func (r *Recorder) Table(nowUS int64) {
	counts := r.counts
	if len(r.rings) == 0 {
		counts = nil
	}
	r.processes.tick(nowUS, counts)
	clear(r.counts)
}

// Close ends recording.
func (r *Recorder) Close() {
	for _, each := range r.rings {
		each.close()
	}
	r.rings = nil
}

// parseCPUs reads a list of CPUs: "0-3,8".
func parseCPUs(list string) (cpus []int, err error) {
	for _, part := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("CPUs online: %q: %w", list, err)
		}
		to := from
		if isRange {
			if to, err = strconv.Atoi(last); err != nil {
				return nil, fmt.Errorf("CPUs online: %q: %w", list, err)
			}
		}
		for cpu := from; cpu <= to && len(cpus) < 4096; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
