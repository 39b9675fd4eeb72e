// Package bpfload reports eBPF programs that are loaded into the kernel: who loaded them, and how long that took.
//
// The kernel reports each program to perf (PERF_RECORD_BPF_EVENT) when it is loaded, and records in the program when it
// began to verify it. The difference is the time for verification and compilation. So nothing is traced and there is no
// overhead: tracing bpf(2) would make each system call of each process slower. Loads that the verifier rejects are not
// reported.
package bpfload

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/pollstop"
)

// Needs lists the requirements, for SourceStatus.
const Needs = "CAP_PERFMON and CAP_BPF (or CAP_SYS_ADMIN); Linux 5.1"

// Load is a program that was loaded.
type Load struct {
	PID          uint32 // of the process that loaded it
	EndUS        int64  // since the Unix epoch
	DurationUS   int64  // 0 if Gone
	Name, Type   string
	Instructions uint32 // after verification
	Verified     uint32 // instructions that the verifier walked through; 0: not reported (before Linux 5.16)
	Gone         bool   // it was unloaded before it could be queried
}

// Watcher waits for loads.
type Watcher struct {
	rings []*ring
	stop  *pollstop.Stop
	lost  atomic.Uint64
}

// Open asks the kernel to report loads.
func Open(cpus int) (*Watcher, error) {
	stop, err := pollstop.New()
	if err != nil {
		return nil, err
	}
	w := &Watcher{stop: stop}
	for cpu := range cpus {
		r, err := openRing(cpu)
		if errors.Is(err, unix.ENODEV) { // offline
			continue
		}
		if err != nil {
			w.Close()
			return nil, err
		}
		w.rings = append(w.rings, r)
	}
	if len(w.rings) == 0 {
		w.Close()
		return nil, errors.New("no CPU is online")
	}
	return w, nil
}

// Run calls take with every load until ctx ends. A program can be unloaded again soon: the thread should run without
// delay.
func (w *Watcher) Run(ctx context.Context, take func(Load)) {
	defer w.stop.When(ctx)()
	descriptors := make([]unix.PollFd, 0, len(w.rings)+1)
	for _, r := range w.rings {
		descriptors = append(descriptors, unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN})
	}
	descriptors = append(descriptors, w.stop.Poll())
	for ctx.Err() == nil {
		if _, err := unix.Poll(descriptors, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		for _, r := range w.rings {
			r.drain(func(kind uint32, record []byte) { w.record(kind, record, take) })
		}
	}
}

// Lost counts loads that did not fit into the ring.
func (w *Watcher) Lost() uint64 { return w.lost.Load() }

// record reads the body of a record. PERF_RECORD_BPF_EVENT is type u16, flags u16, id u32, tag u8[8], then pid u32, tid
// u32 and time u64, as requested by the event. They are not read from the end: if there are other listeners, the kernel
// extends the record by what each of them requested (perf_event_bpf_output in kernel/events/core.c).
func (w *Watcher) record(kind uint32, body []byte, take func(Load)) {
	const pid, time = 16, 24
	switch {
	case kind == unix.PERF_RECORD_LOST && len(body) >= 16:
		w.lost.Add(binary.NativeEndian.Uint64(body[8:]))
	case kind == unix.PERF_RECORD_BPF_EVENT && len(body) >= time+8 &&
		binary.NativeEndian.Uint16(body) == unix.PERF_BPF_EVENT_PROG_LOAD:
		id := binary.NativeEndian.Uint32(body[4:])
		take(describe(id, binary.NativeEndian.Uint32(body[pid:]), int64(binary.NativeEndian.Uint64(body[time:]))))
	}
}

// describe queries the kernel about a program that was loaded at a CLOCK_BOOTTIME time.
func describe(id, pid uint32, endNS int64) Load {
	load := Load{PID: pid, EndUS: (endNS + bpf.WallOffsetNS(unix.CLOCK_BOOTTIME)) / 1000, Gone: true}
	info, err := readInfo(id)
	if err != nil {
		return load
	}
	load.Gone = false
	load.DurationUS = max((endNS-int64(info.loadTimeNS))/1000, 0)
	load.Name, load.Type = info.name(), typeName(info.kind)
	load.Instructions, load.Verified = info.translatedBytes/8, info.verified
	return load
}

// Close closes the watcher; Run must have returned.
func (w *Watcher) Close() {
	for _, r := range w.rings {
		r.close()
	}
	w.stop.Close()
}

// ring is the event of one CPU and the buffer that the kernel writes to.
type ring struct {
	fd      int
	memory  []byte
	control *unix.PerfEventMmapPage
	data    []byte
	record  []byte
}

func openRing(cpu int) (*ring, error) {
	const bpfEvent = unix.CBitFieldMaskBit30
	attributes := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME,
		Bits:        bpfEvent | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark,
		Wakeup:      1, Clockid: unix.CLOCK_BOOTTIME,
	}
	fd, err := unix.PerfEventOpen(&attributes, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	page := os.Getpagesize()
	memory, err := unix.Mmap(fd, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("map the ring buffer: %w", err)
	}
	return &ring{
		fd: fd, memory: memory, control: (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0])), data: memory[page:],
		record: make([]byte, 0, 256),
	}, nil
}

// drain passes on all records. The header is type u32, misc u16, size u16.
func (r *ring) drain(take func(kind uint32, record []byte)) {
	const header = 8
	head, tail := atomic.LoadUint64(&r.control.Data_head), r.control.Data_tail
	for tail+header <= head {
		at := tail % uint64(len(r.data)) // records are multiples of 8 bytes: a header is contiguous
		length := uint64(binary.NativeEndian.Uint16(r.data[at+6:]))
		if length < header || tail+length > head {
			tail = head
			break
		}
		r.record = r.record[:0]
		for i := range length {
			r.record = append(r.record, r.data[(tail+i)%uint64(len(r.data))])
		}
		tail += length
		atomic.StoreUint64(&r.control.Data_tail, tail)
		take(binary.NativeEndian.Uint32(r.record), r.record[header:])
	}
	atomic.StoreUint64(&r.control.Data_tail, tail)
}

func (r *ring) close() {
	_ = unix.Munmap(r.memory)
	_ = unix.Close(r.fd)
}
