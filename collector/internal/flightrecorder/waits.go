package flightrecorder

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"github.com/jitterscope/jitterscope/collector/internal/offheap"
)

const (
	// WaitThreads is how many threads of a server are looked at.
	WaitThreads = 32
	waitsKept   = 8192 // 51 s at the 160 threads/s that are looked at in the long run
	waitsSent   = 4000 // in one capture
	textsMost   = 4096
	stackFrames = 24
)

// System calls that /proc/PID/task/TID/syscall does not number.
const (
	noCall      = -1 // the thread is in the kernel for another reason: a page fault, a signal
	unknownCall = -2 // it runs, or this is not readable
)

// Wait is what a thread waited in at one moment.
type Wait struct {
	us                 int64
	pid, thread        int32
	call               int32
	name, place, stack uint32 // indices into texts
	state              byte
}

// Waits keeps what threads waited in. Memory is bounded, and only new texts allocate.
type Waits struct {
	reader threadReader

	mu    sync.Mutex
	ring  []Wait
	first uint64 // entries before were dropped with their texts
	next  uint64 // number of the next entry
	texts texts
}

// NewWaits reads threads below proc.
func NewWaits(proc string) *Waits {
	w := &Waits{reader: newThreadReader(proc), texts: newTexts()}
	w.ring = offheap.Make[Wait](w, waitsKept)
	return w
}

// Look reads up to WaitThreads threads of a process and of its children with the same name, such as workers. The result
// is valid until the next Look. threads is how many threads these processes have. One goroutine calls it.
func (w *Waits) Look(pid int, us int64) (found []Wait, threads int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.texts.full() {
		w.texts, w.first = newTexts(), w.next
	}
	return w.reader.look(pid, us, &w.texts)
}

// Hidden reports whether the kernel refused to tell what a thread waits in.
func (w *Waits) Hidden() bool { return w.reader.hidden }

// Keep adds what Look found to what captures contain, and returns the number of its first entry.
func (w *Waits) Keep(found []Wait) (from uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from = w.next
	for _, each := range found {
		w.ring[w.next%waitsKept] = each
		w.next++
	}
	return from
}

// Drop removes entries: they were read when the server had answered already.
func (w *Waits) Drop(from uint64, count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := from; i < from+uint64(count); i++ {
		if w.kept(i) {
			w.ring[i%waitsKept].pid = 0
		}
	}
}

func (w *Waits) kept(number uint64) bool {
	return number >= w.first && number < w.next && w.next-number <= waitsKept
}

// WaitCount is how often threads waited in the same way.
type WaitCount struct {
	State byte   // letter of /proc/PID/stat
	Call  string // name of the system call; "": in none; "?": not known
	Place string // the kernel function in which it sleeps, "": none
	Stack []string
	Count int
}

// Add counts kept entries, the most frequent way first if they are added to nothing.
func (w *Waits) Add(counts []WaitCount, from uint64, count int) []WaitCount {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := from; i < from+uint64(count); i++ {
		if w.kept(i) {
			counts = w.count(counts, &w.ring[i%waitsKept])
		}
	}
	return counts
}

// Count counts what Look found, into memory of counts.
func (w *Waits) Count(counts []WaitCount, found []Wait) []WaitCount {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range found {
		counts = w.count(counts, &found[i])
	}
	return counts
}

func (w *Waits) count(counts []WaitCount, each *Wait) []WaitCount {
	if each.pid == 0 {
		return counts
	}
	call, place := callName(each.call), w.texts.all[each.place]
	for i := range counts {
		if c := &counts[i]; c.State == each.state && c.Call == call && c.Place == place {
			c.Count++
			return counts
		}
	}
	return append(counts, WaitCount{State: each.state, Call: call, Place: place, Stack: w.texts.stacks[each.stack], Count: 1})
}

// namedWait is an entry with its texts.
type namedWait struct {
	Wait
	name, place string
	stack       []string
}

// between returns the first entries of a time span.
func (w *Waits) between(fromUS, toUS int64) (found []namedWait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := w.first
	if w.next-from > waitsKept {
		from = w.next - waitsKept
	}
	for i := from; i < w.next && len(found) < waitsSent; i++ {
		if each := &w.ring[i%waitsKept]; each.pid != 0 && each.us >= fromUS && each.us < toUS {
			found = append(found, namedWait{*each, w.texts.all[each.name], w.texts.all[each.place], w.texts.stacks[each.stack]})
		}
	}
	slices.SortStableFunc(found, func(a, b namedWait) int { return cmp.Compare(a.us, b.us) }) // the clock can be set back
	return found
}

// texts numbers names of threads and kernel functions, and stacks. 0 is none.
type texts struct {
	known  map[string]uint32
	all    []string
	deep   map[string]uint32
	stacks [][]string
}

func newTexts() texts {
	return texts{known: map[string]uint32{"": 0}, all: []string{""}, deep: map[string]uint32{"": 0}, stacks: [][]string{nil}}
}

// full reports whether the texts of one more Look might not fit.
func (t *texts) full() bool { return max(len(t.all), len(t.stacks)) > textsMost-2*WaitThreads }

func (t *texts) put(text []byte) uint32 {
	index, ok := t.known[string(text)]
	if !ok {
		index = uint32(len(t.all))
		name := tidy(string(text))
		t.known[string(text)] = index
		t.all = append(t.all, name)
	}
	return index
}

// putStack numbers a stack as /proc/PID/task/TID/stack has it: "[<0>] function+0x10/0x20", leaf first.
func (t *texts) putStack(text []byte) uint32 {
	index, ok := t.deep[string(text)]
	if ok {
		return index
	}
	var frames []string
	for line := range bytes.Lines(text) {
		_, name, ok := bytes.Cut(bytes.TrimSpace(line), []byte("] "))
		if !ok || len(frames) == stackFrames {
			break
		}
		name, _, _ = bytes.Cut(name, []byte("+"))
		frames = append(frames, tidy(string(name)))
	}
	index = uint32(len(t.stacks))
	t.deep[string(text)] = index
	t.stacks = append(t.stacks, frames)
	return index
}
