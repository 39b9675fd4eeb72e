package goruntime

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// FindGoroutines finds the counts in a running program, stripped or not, on any 64-bit little-endian machine. The three
// variables that it needs are found by what they must contain: runtime.sched by the thread limit and the numbers around
// it, runtime.allp by processors numbered from 0, runtime.allgs by goroutines with stacks. It needs permission to
// ptrace the process. proc is where procfs is mounted.
func FindGoroutines(proc string, pid int, info *Info) (*Goroutines, error) {
	l, ok := layoutOf(info)
	if !ok {
		return nil, fmt.Errorf("%w: Go %s", ErrNoGoroutines, info.Version)
	}
	directory := proc + "/" + strconv.Itoa(pid)
	file, err := elf.Open(directory + "/exe")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if file.Class != elf.ELFCLASS64 || file.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("%w: not a 64-bit little-endian program", ErrNoGoroutines)
	}
	memory, err := os.Open(directory + "/mem")
	if err != nil {
		return nil, err
	}
	defer func() { _ = memory.Close() }()
	bias, err := loadBias(proc, pid, file)
	if err != nil {
		return nil, err
	}
	threads, err := os.ReadDir(directory + "/task")
	if err != nil {
		return nil, err
	}
	search := &search{memory: memory, layout: l, threads: uint64(len(threads))}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_LOAD && segment.Flags&elf.PF_W != 0 {
			search.segment(segment.Vaddr+bias, segment.Memsz)
		}
	}
	return search.result(pid)
}

// search collects candidates for the three variables; there must be one of each.
type search struct {
	memory  *os.File
	layout  layout
	threads uint64 // of the process

	scheds []uint64
	allps  []procSlice
	allgs  []uint64    // the best
	best   sliceHeader // of allgs
}

// procSlice is a slice of processors.
type procSlice struct {
	address uint64
	header  sliceHeader
	procs   []uint64
}

const (
	searchWindow = 64 << 10
	searchMost   = 64 << 20 // of a segment
	searchAhead  = 256      // more than runtime.schedt up to its last field that is read
	// In runtime.schedt of all releases: when the network was last polled, and until when it will be.
	lastPollAt, pollUntilAt = 8, 16
	earliestPoll            = 1_000_000 // ns; no program runs in the first millisecond
	threadsBetween          = 16        // started or ended during the search
	noThreads               = 10_000    // maxmcount unless the program calls debug.SetMaxThreads
)

// segment examines all words of a segment, each once.
func (s *search) segment(start, size uint64) {
	window := make([]byte, searchWindow)
	size = min(size, searchMost)
	for at := uint64(0); at < size; at += searchWindow - searchAhead {
		chunk := window[:min(searchWindow, size-at)]
		n, err := s.memory.ReadAt(chunk, int64(start+at))
		end := n - searchAhead // what follows is also in the next window
		if err != nil || at+searchWindow >= size {
			end = n - headerBytes + 1
		}
		for k := 0; k < end; k += 8 {
			s.word(start+at+uint64(k), chunk[k:n])
		}
		if at+searchWindow >= size {
			return
		}
	}
}

func (s *search) word(address uint64, memory []byte) {
	if s.isSched(memory) {
		s.scheds = append(s.scheds, address)
	}
	header := readHeader(memory)
	if header.pointer < 1<<16 || header.pointer&7 != 0 || header.length == 0 || header.length > header.capacity || header.capacity > maxGoroutines {
		return
	}
	if procs, ok := s.isAllp(header); ok {
		s.allps = append(s.allps, procSlice{address, header, procs})
	} else if s.isAllgs(header) {
		s.addAllgs(address, header)
	}
}

// addAllgs prefers the longest: the garbage collector has a copy of the slice as of its last start, without the
// capacity beyond its end.
func (s *search) addAllgs(address uint64, header sliceHeader) {
	better := cmp.Or(cmp.Compare(header.length, s.best.length), cmp.Compare(header.capacity, s.best.capacity))
	if better > 0 {
		s.allgs, s.best = s.allgs[:0], header
	}
	if better >= 0 {
		s.allgs = append(s.allgs, address)
	}
}

// isSched compares numbers that belong together: threads created so far, their limit, and the goroutines numbered so
// far.
func (s *search) isSched(memory []byte) bool {
	l := &s.layout
	number := func(at uint64) uint64 { return binary.LittleEndian.Uint64(memory[at:]) }
	small := func(at uint64) int32 { return int32(binary.LittleEndian.Uint32(memory[at:])) }
	if len(memory) < searchAhead || small(l.maxmcount) != noThreads {
		return false
	}
	threads, goroutines, freed := number(l.mnext), number(l.goidgen), number(l.maxmcount+8)
	if threads < 1 || threads > 1<<24 || goroutines < 1 || goroutines > 1<<48 || freed > threads {
		return false
	}
	upTo := func(value int32, most uint64) bool { return value >= 0 && uint64(value) <= most }
	for _, free := range l.free {
		if !upTo(small(free), goroutines) {
			return false
		}
	}
	for at := uint64(lastPollAt); at <= pollUntilAt; at += 8 { // times since boot
		if ns := number(at); ns != 0 && ns < earliestPoll {
			return false
		}
	}
	if threads-freed > s.threads+threadsBetween {
		return false
	}
	idle, ofRuntime := small(l.mnext-8), small(l.maxmcount+4) // threads
	return upTo(idle, threads) && upTo(ofRuntime, threads) && upTo(small(l.ngsys), goroutines)
}

// isAllp reports whether a slice contains processors: each begins with its number and its status.
func (s *search) isAllp(header sliceHeader) (procs []uint64, ok bool) {
	if header.length > maxProcsRead {
		return nil, false
	}
	pointers := make([]byte, 8*min(header.length, 1))
	for i := uint64(0); i < header.length; i++ {
		if i == 1 { // the first is a processor: read the others
			pointers = make([]byte, 8*header.length)
		}
		if i <= 1 && !s.read(header.pointer, pointers) {
			return nil, false
		}
		p := binary.LittleEndian.Uint64(pointers[8*i:])
		var begin, free [8]byte
		if p < 1<<16 || p&7 != 0 || !s.read(p, begin[:]) || !s.read(p+s.layout.procFree, free[:4]) {
			return nil, false
		}
		id, status := binary.LittleEndian.Uint32(begin[:]), binary.LittleEndian.Uint32(begin[4:])
		if uint64(id) != i || status > 4 || binary.LittleEndian.Uint32(free[:]) > 64 {
			return nil, false
		}
		procs = append(procs, p)
	}
	// With a single new processor all this is zeros: check a field that only a processor has.
	return procs, s.looksLikeProc(procs[0])
}

// looksLikeProc checks the pointer to each processor's memory cache.
func (s *search) looksLikeProc(p uint64) bool {
	var raw [8]byte
	return s.read(p+s.layout.procCache, raw[:]) && binary.LittleEndian.Uint64(raw[:]) > 1<<16
}

// isAllgs reports whether a slice contains goroutines: each begins with the bounds of its stack and the guard between
// them. The first is the program's main goroutine, which has a stack as long as the program lives.
func (s *search) isAllgs(header sliceHeader) bool {
	var pointer, raw [24]byte
	if !s.read(header.pointer, pointer[:8]) {
		return false
	}
	g := binary.LittleEndian.Uint64(pointer[:])
	if g < 1<<16 || g&7 != 0 || !s.read(g, raw[:]) {
		return false
	}
	stack := readHeader(raw[:]) // low, high, guard
	low, high, guard := stack.pointer, stack.length, stack.capacity
	const preempt = ^uint64(0) - 1313 // the guard's value while the goroutine is asked to stop
	size := high - low
	return low > 1<<16 && high > low && size >= 2048 && size <= 1<<30 && size&(size-1) == 0 && low%2048 == 0 &&
		(guard > low && guard < high || guard == preempt)
}

func (s *search) read(address uint64, into []byte) bool {
	n, err := s.memory.ReadAt(into, int64(address))
	return err == nil && n == len(into)
}

// result creates the reader if the search was unambiguous.
func (s *search) result(pid int) (*Goroutines, error) {
	if len(s.scheds) != 1 || len(s.allps) == 0 || len(s.allgs) != 1 {
		return nil, fmt.Errorf("%w: %d, %d and %d candidates for sched, allp and allgs", ErrNoGoroutines, len(s.scheds), len(s.allps), len(s.allgs))
	}
	// The first thread can have a copy of allp while it looks for work. Linkers place variables of the same size next
	// to each other: the true one is near allgs.
	allp := slices.MinFunc(s.allps, func(a, b procSlice) int {
		return cmp.Compare(distance(a.address, s.allgs[0]), distance(b.address, s.allgs[0]))
	})
	g := &Goroutines{pid: pid, layout: s.layout, allp: allp.header}
	g.prepare(s.allgs[0], allp.address, s.scheds[0], allp.procs)
	if _, ok := g.Count(); !ok {
		return nil, fmt.Errorf("%w: the numbers contradict each other", ErrNoGoroutines)
	}
	return g, nil
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }
