// Package blocked tells how long threads of chosen processes are blocked in the kernel.
package blocked

import (
	"encoding/binary"
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
)

// Needs names what it takes, for SourceStatus.
const Needs = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); Linux 5.18 with BTF"

// Account is the time of all threads of a process together, those that have ended too, since it is watched.
type Account struct {
	BlockedNS uint64 // in state D
	IONS      uint64 // of that, waiting for I/O
}

// Tracer is the attached program. Read belongs to one goroutine, Watch and Forget to another.
type Tracer struct {
	objects bpf.BlockedObjects
	link    link.Link
	state   *ebpf.Memory
	free    []uint32
	buffer  [accountBytes]byte
}

const accountBytes = 64 // see blocked.bpf.c

// Open loads and attaches the program.
func Open() (*Tracer, error) {
	t := &Tracer{}
	err := bpf.Load(bpf.LoadBlocked, nil, &t.objects)
	if err != nil {
		return nil, err
	}
	if t.state, err = t.objects.Accounts.Memory(); err != nil {
		return nil, errors.Join(err, t.objects.Close())
	}
	if t.link, err = link.AttachTracing(link.TracingOptions{Program: t.objects.Switched}); err != nil {
		return nil, errors.Join(err, t.objects.Close())
	}
	for slot := t.objects.Accounts.MaxEntries(); slot > 0; slot-- {
		t.free = append(t.free, slot-1)
	}
	return t, nil
}

// Watch begins the account of a process; false where so many are watched already.
func (t *Tracer) Watch(pid int) (slot uint32, ok bool) {
	if len(t.free) == 0 {
		return 0, false
	}
	slot = t.free[len(t.free)-1]
	if t.objects.Accounts.Put(slot, make([]byte, accountBytes)) != nil || t.objects.Watched.Put(uint32(pid), slot) != nil {
		return 0, false
	}
	t.free = t.free[:len(t.free)-1]
	return slot, true
}

// Forget ends the account of a process.
func (t *Tracer) Forget(pid int, slot uint32) {
	_ = t.objects.Watched.Delete(uint32(pid))
	t.free = append(t.free, slot)
}

// Read returns an account. It neither allocates nor blocks.
func (t *Tracer) Read(slot uint32) (account Account, ok bool) {
	if n, _ := t.state.ReadAt(t.buffer[:], int64(slot)*accountBytes); n < accountBytes {
		return Account{}, false
	}
	return Account{binary.NativeEndian.Uint64(t.buffer[:]), binary.NativeEndian.Uint64(t.buffer[8:])}, true
}

// Close detaches and unloads.
func (t *Tracer) Close() error { return errors.Join(t.link.Close(), t.objects.Close()) }
