// Package lookups reports which processes look up names that do not exist. The kernel programs stay loaded and are
// attached only on demand: tracing system calls makes every one on the machine a little slower.
package lookups

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
)

// Needs lists the requirements, for SourceStatus.
const Needs = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); Linux 5.11 with BTF"

// Tracer is the loaded program. Attach and Detach belong to one goroutine, the rest to another.
type Tracer struct {
	objects bpf.LookupsObjects
	ring    *bpf.Ring
	state   *ebpf.Memory
	link    link.Link
	tick    [8]byte
	slots   [slots * slotBytes]byte
}

// Offsets in struct tracing and struct slot of lookups.bpf.c.
const (
	tickAt    = 0
	slotsAt   = 64
	slots     = 256
	slotBytes = 64
	lostAt    = 16
)

// Offsets in struct lookup.
const (
	cgroupAt    = 0
	pidAt       = 8
	weightAt    = 12
	lengthAt    = 16
	commandAt   = 20
	pathAt      = 36
	pathBytes   = 160
	lookupBytes = 200
)

// Lookup is one failing lookup. Its slices are valid until the next call.
type Lookup struct {
	Cgroup  uint64 // inode of its cgroup directory, that of the CPU controller under v1; 0: unknown
	PID     uint32
	Weight  uint32 // how many failing lookups this one stands for
	Command []byte
	Path    []byte
	Cut     bool // the path was longer
}

// Open loads the program. unified: cgroup v2.
func Open(unified bool) (*Tracer, error) {
	t := &Tracer{}
	err := bpf.Load(bpf.LoadLookups, bpf.Unified(unified), &t.objects)
	if err != nil {
		return nil, err
	}
	if t.state, err = t.objects.State.Memory(); err != nil {
		return nil, errors.Join(err, t.objects.Close())
	}
	if t.ring, err = bpf.OpenRing(t.objects.Lookups); err != nil {
		return nil, errors.Join(err, t.objects.Close())
	}
	return t, nil
}

// Attach starts tracing.
func (t *Tracer) Attach() error {
	if t.link != nil {
		return nil
	}
	l, err := link.AttachTracing(link.TracingOptions{Program: t.objects.CallEnded})
	if err == nil {
		t.link = l
	}
	return err
}

// Detach stops tracing.
func (t *Tracer) Detach() error {
	if t.link == nil {
		return nil
	}
	err := t.link.Close()
	t.link = nil
	return err
}

// Tick begins a new tick and returns how many lookups have failed and how many samples were lost so far, while tracing.
func (t *Tracer) Tick() (failures, lost uint64) {
	tick := binary.NativeEndian.Uint64(t.tick[:]) + 1
	binary.NativeEndian.PutUint64(t.tick[:], tick)
	_, _ = t.state.WriteAt(t.tick[:], tickAt)
	if n, _ := t.state.ReadAt(t.slots[:], slotsAt); n < len(t.slots) {
		return 0, 0
	}
	for at := 0; at < len(t.slots); at += slotBytes {
		failures += binary.NativeEndian.Uint64(t.slots[at:])
		lost += binary.NativeEndian.Uint64(t.slots[at+lostAt:])
	}
	return failures, lost
}

// Next returns the next sample. It neither allocates nor blocks.
func (t *Tracer) Next(lookup *Lookup) bool {
	for {
		raw := t.ring.Next()
		if raw == nil {
			return false
		}
		if len(raw) < lookupBytes {
			continue
		}
		length := min(int(binary.NativeEndian.Uint32(raw[lengthAt:])), pathBytes-1)
		// What follows the terminating 0 is stale.
		command, _, _ := bytes.Cut(raw[commandAt:pathAt], []byte{0})
		*lookup = Lookup{
			Cgroup: binary.NativeEndian.Uint64(raw[cgroupAt:]), PID: binary.NativeEndian.Uint32(raw[pidAt:]),
			Weight: binary.NativeEndian.Uint32(raw[weightAt:]), Command: command,
			Path: raw[pathAt : pathAt+length], Cut: length == pathBytes-1,
		}
		return true
	}
}

// Close detaches and unloads.
func (t *Tracer) Close() error {
	return errors.Join(t.Detach(), t.ring.Close(), t.objects.Close())
}
