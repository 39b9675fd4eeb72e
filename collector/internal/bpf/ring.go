package bpf

import (
	"errors"
	"os"
	"runtime/debug"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
)

// Ring reads a ring buffer map without blocking and, once warm, without allocating. The programs do not wake readers.
type Ring struct {
	reader *ringbuf.Reader
	record ringbuf.Record
}

// OpenRing maps the ring buffer of m.
func OpenRing(m *ebpf.Map) (*Ring, error) {
	reader, err := ringbuf.NewReader(m)
	if err != nil {
		return nil, err
	}
	reader.SetDeadline(time.Unix(1, 0)) // in the past: never wait
	return &Ring{reader: reader, record: ringbuf.Record{RawSample: make([]byte, 0, 256)}}, nil
}

// Next returns the next record, nil if there is none. It is valid until the next call.
func (r *Ring) Next() []byte {
	for range 2 { // the expired deadline is reported once, after the last record before it
		if r.reader.AvailableBytes() == 0 {
			return nil
		}
		err := r.reader.ReadInto(&r.record)
		if err == nil {
			return r.record.RawSample
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
	}
	return nil
}

// Close unmaps the ring.
func (r *Ring) Close() error { return r.reader.Close() }

// Shrink limits a ring buffer map of a collection to the given number of bytes, a power of two, instead of its compiled
// size: the ring also counts as memory of this process.
func Shrink(spec *ebpf.CollectionSpec, name string, bytes uint32) {
	if m := spec.Maps[name]; m != nil {
		m.MaxEntries = min(m.MaxEntries, max(bytes, uint32(os.Getpagesize())))
	}
}

// Forget releases the memory that loading programs took: several megabytes with the kernel's type information.
func Forget() {
	debug.FreeOSMemory()
}

// Explain says briefly why programs cannot be loaded.
func Explain(err error) string {
	switch {
	case errors.Is(err, os.ErrPermission):
		return "loading BPF programs is not permitted"
	case errors.Is(err, ebpf.ErrNotSupported):
		return "the kernel does not support it: " + err.Error()
	}
	return err.Error()
}

// CounterOf reads the first element of an array map of counters; 0 if that fails.
func CounterOf(m *ebpf.Map) uint64 {
	var count uint64
	_ = m.Lookup(uint32(0), &count)
	return count
}
