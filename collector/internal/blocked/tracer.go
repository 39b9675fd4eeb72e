// Package blocked measures how long threads of chosen processes are blocked in the kernel.
package blocked

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
)

// Needs lists the requirements, for SourceStatus.
const Needs = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); Linux 5.18 with BTF"

// Account is the total blocked time of all threads of a process since watching began, including those that are blocked
// now.
type Account struct {
	BlockedNS uint64 // in state D
	IONS      uint64 // of that, waiting for I/O
}

// Meter is the account of one process.
type Meter struct {
	pid   int
	place bpf.BlockedPlace
	last  Account
	atNS  int64 // CLOCK_MONOTONIC, of last
}

// Tracer is the attached program. Read belongs to one goroutine, Watch and Forget to another.
type Tracer struct {
	objects bpf.BlockedObjects
	link    link.Link
	state   *ebpf.Memory
	free    []uint32
	life    uint32
	buffer  [2][fieldsBytes]byte
}

// See blocked.bpf.c. mostThreads is the highest plausible number of threads of a process blocked at once.
const accountBytes, fieldsBytes, mostThreads = 64, 32, 4096

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

// Watch starts the account of a process; nil if too many are already watched.
func (t *Tracer) Watch(pid int) *Meter {
	if len(t.free) == 0 {
		return nil
	}
	slot := t.free[len(t.free)-1]
	t.life++
	meter := &Meter{pid: pid, place: bpf.BlockedPlace{Slot: slot, Life: t.life}, atNS: now()}
	if t.objects.Accounts.Put(slot, bpf.BlockedAccount{Life: t.life}) != nil || t.objects.Watched.Put(uint32(pid), meter.place) != nil {
		return nil
	}
	t.free = t.free[:len(t.free)-1]
	return meter
}

// Forget ends the account of a process.
func (t *Tracer) Forget(meter *Meter) {
	_ = t.objects.Watched.Delete(uint32(meter.pid))
	t.free = append(t.free, meter.place.Slot)
}

// Read returns an account. It neither allocates nor blocks. ok is false if the program was changing it at that moment.
func (t *Tracer) Read(meter *Meter) (account Account, ok bool) {
	at := now()
	for i := range t.buffer {
		if n, _ := t.state.ReadAt(t.buffer[i][:], int64(meter.place.Slot)*accountBytes); n < fieldsBytes {
			return Account{}, false
		}
	}
	if t.buffer[0] != t.buffer[1] {
		return Account{}, false
	}
	field := func(i int) int64 { return int64(binary.NativeEndian.Uint64(t.buffer[0][8*i:])) }
	blocked, inIO := field(0)+field(1)*at, field(2)+field(3)*at
	last, most := meter.last, mostThreads*(at-meter.atNS)
	// Time and count are changed one after the other: in between, the sum is off by about the machine's uptime.
	grown, grownIO := blocked-int64(last.BlockedNS), inIO-int64(last.IONS)
	if tooMuch := max(grown, grownIO) > most; tooMuch || min(grown, grownIO) < -most {
		return Account{}, false
	}
	meter.last = Account{last.BlockedNS + uint64(max(0, grown)), last.IONS + uint64(max(0, grownIO))}
	meter.atNS = at
	return meter.last, true
}

func now() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Sec*int64(time.Second) + now.Nsec
}

// Close detaches and unloads.
func (t *Tracer) Close() error { return errors.Join(t.link.Close(), t.objects.Close()) }
