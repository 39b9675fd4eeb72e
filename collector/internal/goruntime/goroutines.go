package goruntime

import (
	"encoding/binary"
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrNoGoroutines means that the runtime's counts were not found: a Go release whose layout is not known here, or a
// program that is only starting.
var ErrNoGoroutines = errors.New("the runtime's counts of goroutines were not found")

// Goroutines counts the goroutines of a running program as its runtime.NumGoroutine does: all that were ever created,
// minus those in free lists for reuse, minus those of the runtime itself. It takes one system call that copies a few
// numbers; the program does not notice. If numbers change in the meantime, the sum can be off by a few.
type Goroutines struct {
	pid     int
	layout  layout
	allp    sliceHeader
	remote  []unix.RemoteIovec
	local   []unix.Iovec
	numbers []byte
}

// layout is where a Go release keeps its counts, in bytes from the start of runtime.schedt and runtime.p. The offsets
// are from the debug information of programs compiled with each release, the same on amd64 and arm64.
type layout struct {
	goidgen, mnext, maxmcount, ngsys uint64
	free                             []uint64 // lengths of the global free lists
	procFree, procCache              uint64   // length of the free list in runtime.p, its mcache
}

// layoutOf returns the layout of a release.
func layoutOf(info *Info) (layout, bool) {
	switch {
	case info.AtLeast(1, 27) || !info.AtLeast(1, 18):
		return layout{}, false
	case info.AtLeast(1, 26):
		return layout{mnext: 72, maxmcount: 80, ngsys: 96, free: []uint64{200, 216}, procFree: 2472, procCache: 56}, true
	case info.AtLeast(1, 25):
		return layout{mnext: 56, maxmcount: 64, ngsys: 80, free: []uint64{184, 200}, procFree: 2464, procCache: 56}, true
	case info.AtLeast(1, 23):
		return layout{mnext: 48, maxmcount: 56, ngsys: 72, free: []uint64{184}, procFree: 2464, procCache: 56}, true
	case info.AtLeast(1, 20):
		return layout{mnext: 48, maxmcount: 56, ngsys: 72, free: []uint64{184}, procFree: 2472, procCache: 64}, true
	}
	return layout{mnext: 48, maxmcount: 56, ngsys: 72, free: []uint64{176}, procFree: 2472, procCache: 64}, true
}

// sliceHeader is a slice in the memory of the program.
type sliceHeader struct{ pointer, length, capacity uint64 }

func readHeader(raw []byte) sliceHeader {
	return sliceHeader{
		binary.LittleEndian.Uint64(raw), binary.LittleEndian.Uint64(raw[8:]), binary.LittleEndian.Uint64(raw[16:]),
	}
}

const (
	headerBytes   = 24
	maxProcsRead  = 512
	maxGoroutines = 1 << 26
)

// prepare lays out what Count copies: the header of allgs, that of allp, the counts in sched, and one count of each p.
func (g *Goroutines) prepare(allgs, allp, sched uint64, procs []uint64) {
	first := g.layout.ngsys
	last := slices.Max(g.layout.free) + 4
	g.remote = append(g.remote[:0],
		unix.RemoteIovec{Base: uintptr(allgs), Len: headerBytes}, unix.RemoteIovec{Base: uintptr(allp), Len: headerBytes},
		unix.RemoteIovec{Base: uintptr(sched + first), Len: int(last - first)})
	size := 2*headerBytes + int(last-first)
	for _, p := range procs {
		g.remote = append(g.remote, unix.RemoteIovec{Base: uintptr(p + g.layout.procFree), Len: 4})
		size += 4
	}
	g.numbers = make([]byte, size)
	g.local = []unix.Iovec{{Base: &g.numbers[0]}}
	g.local[0].SetLen(size)
}

// Count returns the current number. It does not allocate. It returns false if the program changed its number of
// processors or has ended: find it again.
func (g *Goroutines) Count() (count int, ok bool) {
	n, err := unix.ProcessVMReadv(g.pid, g.local, g.remote, 0)
	if err != nil || n != len(g.numbers) {
		return 0, false
	}
	if readHeader(g.numbers[headerBytes:]) != g.allp {
		return 0, false
	}
	number := func(at uint64) int64 { return int64(int32(binary.LittleEndian.Uint32(g.numbers[at:]))) }
	made := binary.LittleEndian.Uint64(g.numbers[8:])
	if made == 0 || made > maxGoroutines {
		return 0, false
	}
	const sched = 2 * headerBytes
	system := number(sched)
	idle := int64(0)
	for _, offset := range g.layout.free {
		idle += number(sched + offset - g.layout.ngsys)
	}
	for at := sched + slices.Max(g.layout.free) + 4 - g.layout.ngsys; at < uint64(len(g.numbers)); at += 4 {
		idle += number(at)
	}
	// Goroutines move between lists while they are read.
	return int(max(int64(made)-system-idle, 1)), system >= 0 && system <= int64(made) && idle >= 0 && idle <= int64(made)
}
