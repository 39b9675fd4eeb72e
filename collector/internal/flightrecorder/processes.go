package flightrecorder

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/offheap"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

const (
	busiest   = 24  // rows per second: the most sampled processes
	glances   = 12  // other processes read per second, all in turn, so that their counters are known
	blind     = 128 // the same if there are no samples
	rowsKept  = (busiest + glances) * (sliceCount * sliceSeconds)
	namesMost = 4096
	// young is the age up to which it is expected that a process was not read before.
	young = 30 * time.Second
)

// row is one line of the process table: a process in the second that ends at us.
type row struct {
	us                        int64
	pid                       int32
	userUS, systemUS, threads uint32
	state                     byte
}

// processes is the process table. Reading all processes every second would cost more than everything else, so it reads
// those that the samples show to be busy, and the others in turn. Of the latter, those in uninterruptible sleep get a
// row too.
type processes struct {
	proc   string
	rows   []row // a ring
	next   int
	known  map[int32]*process
	turn   []int32 // PIDs to be read in turn
	order  []int32
	lastUS int64
	buffer [4096]byte
}

// process is what is known about a process.
type process struct {
	command    string
	cgroup     string
	startTicks uint64
	userUS     uint64
	systemUS   uint64
	read       bool
	placed     bool // its cgroup was read
	seenUS     int64
}

func newProcesses(proc string) *processes {
	p := &processes{proc: proc, known: make(map[int32]*process)}
	p.rows = offheap.Make[row](p, rowsKept)
	return p
}

// named records the new name of a process: it has executed a program.
func (p *processes) named(pid int32, name []byte, us int64) {
	k := p.get(pid, us)
	if k.command != string(name) {
		k.command, k.placed = strings.ToValidUTF8(string(name), "\uFFFD"), false
	}
}

func (p *processes) get(pid int32, us int64) *process {
	k := p.known[pid]
	if k == nil {
		if len(p.known) >= namesMost {
			p.forget(us)
		}
		k = &process{}
		p.known[pid] = k
	}
	k.seenUS = us
	return k
}

// forget drops the processes that have not been seen for longest, at least half of them.
func (p *processes) forget(us int64) {
	limit := us - Kept.Microseconds()
	var seen []int64
	for _, k := range p.known {
		seen = append(seen, k.seenUS)
	}
	slices.Sort(seen)
	limit = max(limit, seen[len(seen)/2])
	for pid, k := range p.known {
		if k.seenUS <= limit {
			delete(p.known, pid)
		}
	}
}

// tick reads the processes that were sampled most since the last one (counts) and some others, and adds their rows.
// Without samples (nil) it reads more of the others.
func (p *processes) tick(us int64, counts map[int32]int) {
	others := glances
	if counts == nil {
		others = blind
	}
	p.order = p.order[:0]
	for pid := range counts {
		p.order = append(p.order, pid)
	}
	slices.SortFunc(p.order, func(a, b int32) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for i, pid := range p.order {
		if i == busiest {
			break
		}
		p.read(pid, us, true)
	}
	for range others {
		if len(p.turn) == 0 {
			p.turn = p.list()
			break // listing is enough for this second
		}
		pid := p.turn[len(p.turn)-1]
		p.turn = p.turn[:len(p.turn)-1]
		if counts[pid] == 0 {
			p.read(pid, us, counts == nil)
		}
	}
	p.lastUS = us
}

func (p *processes) list() []int32 {
	directory, err := os.Open(p.proc)
	if err != nil {
		return nil
	}
	defer func() { _ = directory.Close() }()
	names, _ := directory.Readdirnames(-1)
	pids := p.turn[:0]
	for _, name := range names {
		if pid, err := strconv.ParseInt(name, 10, 32); err == nil {
			pids = append(pids, int32(pid))
		}
	}
	return pids
}

// read reads a process and adds a row if it is busy, or in uninterruptible sleep.
func (p *processes) read(pid int32, us int64, busy bool) {
	text, ok := p.file(pid, "stat")
	if !ok {
		return
	}
	stat, ok := procfs.ParseProcessStat(text)
	if !ok {
		return
	}
	k := p.get(pid, us)
	if k.startTicks != stat.StartTicks {
		*k = process{startTicks: stat.StartTicks, seenUS: us}
	}
	if k.command != string(stat.Command) {
		k.command, k.placed = strings.ToValidUTF8(string(stat.Command), "\uFFFD"), false
	}
	// For a young process all of its time counts; for an older one that is read for the first time, when it was spent
	// is unknown.
	begun := k.read || p.age(stat.StartTicks) < max(young, time.Duration(us-p.lastUS)*time.Microsecond)
	spent := stat.UserUS+stat.SystemUS > k.userUS+k.systemUS
	if begun && (busy && spent || stat.State == 'D') && stat.UserUS >= k.userUS && stat.SystemUS >= k.systemUS {
		p.rows[p.next] = row{
			us: us, pid: pid, userUS: uint32(stat.UserUS - k.userUS), systemUS: uint32(stat.SystemUS - k.systemUS),
			threads: uint32(stat.Threads), state: stat.State,
		}
		p.next = (p.next + 1) % len(p.rows)
	}
	k.userUS, k.systemUS, k.read = stat.UserUS, stat.SystemUS, true
	if busy && !k.placed {
		p.place(pid, k)
	}
}

// place reads the cgroup of a process.
func (p *processes) place(pid int32, k *process) {
	if text, ok := p.file(pid, "cgroup"); ok {
		k.cgroup, k.placed = procwatch.CgroupOf(text), true
	}
}

func (p *processes) file(pid int32, name string) ([]byte, bool) {
	held, err := procfs.Hold(filepath.Join(p.proc, strconv.Itoa(int(pid)), name))
	if err != nil {
		return nil, false
	}
	defer held.Close()
	return held.Read(p.buffer[:])
}

// age is how long ago a process started.
func (p *processes) age(startTicks uint64) time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return math.MaxInt64
	}
	return time.Duration(now.Nano()) - time.Duration(startTicks)*10*time.Millisecond
}

// identify returns the name and the cgroup of a process, as far as known.
func (p *processes) identify(pid int32, us int64) (command, cgroup string) {
	k := p.get(pid, us)
	if k.command == "" {
		if text, ok := p.file(pid, "comm"); ok {
			k.command = strings.ToValidUTF8(strings.TrimSuffix(string(text), "\n"), "\uFFFD")
		}
	}
	if !k.placed {
		p.place(pid, k)
	}
	if k.command == "" { // it has ended, or is in a PID namespace that is not visible here
		return "[unknown]", k.cgroup
	}
	return k.command, k.cgroup
}

// between returns the rows of a time span.
func (p *processes) between(fromUS, toUS int64) []row {
	var rows []row
	for i := range p.rows {
		if r := p.rows[(p.next+i)%len(p.rows)]; r.us >= fromUS && r.us < toUS {
			rows = append(rows, r)
		}
	}
	return rows
}
