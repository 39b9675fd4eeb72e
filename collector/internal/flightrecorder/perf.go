package flightrecorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is the sampling event of one CPU and the buffer that the kernel writes its samples to. It is polled and never
// waited for, so it wakes nothing up. If it is full, the kernel drops the newest samples and counts them: the beginning
// of a stall is worth more than its end.
type ring struct {
	cpu     int
	fd      int
	memory  []byte
	control *unix.PerfEventMmapPage
	data    []byte
	scratch []byte // a record that wraps around the end of the buffer, made contiguous
}

// openRing starts sampling a CPU. Idle time is not sampled. The buffer has size bytes, or less if that much memory
// cannot be locked.
func openRing(cpu, size int) (*ring, error) {
	attributes := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: RateHz, Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN,
		Bits: unix.PerfBitFreq | unix.PerfBitExcludeIdle | unix.PerfBitComm | unix.PerfBitUseClockID | unix.PerfBitWatermark,
		// The ring is never waited for: the watermark is never reached.
		Wakeup: 1 << 31, Clockid: unix.CLOCK_MONOTONIC,
	}
	fd, err := unix.PerfEventOpen(&attributes, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	r := &ring{cpu: cpu, fd: fd}
	page := os.Getpagesize()
	for {
		r.memory, err = unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			break
		}
		if !(errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOMEM)) || size <= max(ringLeast, page) {
			_ = unix.Close(fd)
			return nil, fmt.Errorf("map the ring buffer: %w", err)
		}
		size /= 2
	}
	r.control = (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.memory[0]))
	r.data = r.memory[page:]
	return r, nil
}

// drain passes on all records and returns their space to the kernel. A record is valid during the call.
func (r *ring) drain(take func(kind uint32, record []byte)) {
	head := atomic.LoadUint64(&r.control.Data_head)
	tail := r.control.Data_tail // only written here
	mask := uint64(len(r.data) - 1)
	for tail+perfHeader <= head {
		at := tail & mask // records are multiples of 8 bytes, so a header is contiguous
		kind := binary.NativeEndian.Uint32(r.data[at:])
		length := uint64(binary.NativeEndian.Uint16(r.data[at+6:]))
		if length < perfHeader || tail+length > head {
			tail = head // impossible, but never loop
			break
		}
		record := r.data[at:]
		if uint64(len(record)) >= length {
			record = record[:length]
		} else {
			r.scratch = append(append(r.scratch[:0], record...), r.data[:length-uint64(len(record))]...)
			record = r.scratch
		}
		take(kind, record[perfHeader:])
		tail += length
	}
	atomic.StoreUint64(&r.control.Data_tail, tail)
}

func (r *ring) close() {
	_ = unix.Munmap(r.memory)
	_ = unix.Close(r.fd)
}

// Records: see linux/perf_event.h, enum perf_event_type. The header is type u32, misc u16, size u16.
const (
	perfHeader = 8

	contextKernel = ^uint64(128 - 1) // (u64)-128
	contextUser   = ^uint64(512 - 1)
	contextMax    = ^uint64(4095 - 1) // values from here on are not addresses but markers of what follows
)

// sample is one record of a stack.
type sample struct {
	pid          int32
	monotonicNS  uint64
	kernel, user []byte // addresses, 8 bytes each, leaf first
}

// parseSample reads the body of a PERF_RECORD_SAMPLE: pid u32, tid u32, time u64, n u64, then n addresses.
func parseSample(body []byte) (s sample, ok bool) {
	if len(body) < 24 {
		return s, false
	}
	s.pid = int32(binary.NativeEndian.Uint32(body))
	s.monotonicNS = binary.NativeEndian.Uint64(body[8:])
	count := binary.NativeEndian.Uint64(body[16:])
	chain := body[24:]
	if count > uint64(len(chain)/8) {
		return s, false
	}
	chain = chain[:8*count]
	var part *[]byte
	start := 0
	for at := 0; at <= len(chain); at += 8 {
		var address uint64
		if at < len(chain) {
			if address = binary.NativeEndian.Uint64(chain[at:]); address < contextMax {
				continue
			}
		}
		if part != nil {
			*part = chain[start:at]
		}
		start = at + 8
		switch address {
		case contextKernel:
			part = &s.kernel
		case contextUser:
			part = &s.user
		default:
			part = nil
		}
	}
	return s, true
}

// parseComm reads the body of a PERF_RECORD_COMM: pid u32, tid u32, the NUL-terminated name. Names of threads other
// than the first are ignored.
func parseComm(body []byte) (pid int32, name []byte, ok bool) {
	if len(body) < 9 || binary.NativeEndian.Uint32(body) != binary.NativeEndian.Uint32(body[4:]) {
		return 0, nil, false
	}
	name = body[8:]
	for i, letter := range name {
		if letter == 0 {
			return int32(binary.NativeEndian.Uint32(body)), name[:i], true
		}
	}
	return 0, nil, false
}

// parseLost reads the body of a PERF_RECORD_LOST: id u64, lost u64.
func parseLost(body []byte) uint64 {
	if len(body) < 16 {
		return 0
	}
	return binary.NativeEndian.Uint64(body[8:])
}
