// Package probes attaches probes to running programs and reports when they hit them.
package probes

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
)

// Needs lists what probing requires, for SourceStatus.
const Needs = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), CAP_SYS_PTRACE; Linux 5.15"

// Probes attaches to processes. Attach and Detach belong to one goroutine, Next to another.
type Probes struct {
	objects bpf.GCTraceObjects
	multi   bool
	ring    *bpf.Ring
}

// Place is where a program is probed, and what is reported about it.
type Place struct {
	Name      string
	Offset    uint64 // in the file
	Semaphore uint64 // offset in the file of the counter that enables a static probe; 0: none
	Argument  Argument
}

// Argument selects the number that is reported with a moment; the zero Argument is none.
type Argument struct {
	register uint8 // 1 + number in struct pt_regs
	memory   bool  // at register plus offset
	offset   int16
}

// Moment is a thread reaching a place.
type Moment struct {
	TimeUS   int64 // since the Unix epoch
	Place    uint8 // index in the places given to Attach
	Thread   uint32
	Argument uint64 // of the type that the program passes: truncate it
}

// What is hit between two ticks has to fit into the ring: 40 bytes each time.
const (
	FewHits  = 64 << 10
	ManyHits = 512 << 10
)

// Open loads the programs, with a ring of that many bytes.
func Open(ringBytes uint32) (*Probes, error) {
	_ = rlimit.RemoveMemlock() // only needed before Linux 5.11, where a failure shows below
	spec, err := bpf.LoadGCTrace()
	if err != nil {
		return nil, err
	}
	defer bpf.Forget()
	spec.Maps["moments"].MaxEntries = ringBytes
	p := &Probes{multi: true}
	if err := spec.LoadAndAssign(&p.objects, nil); err != nil {
		// Before Linux 6.6 there is no uprobe_multi: one perf event each does the same.
		delete(spec.Programs, "multi_probe")
		var single struct {
			Program *ebpf.Program `ebpf:"single_probe"`
			Moments *ebpf.Map     `ebpf:"moments"`
			Lost    *ebpf.Map     `ebpf:"lost"`
		}
		if err := spec.LoadAndAssign(&single, nil); err != nil {
			return nil, err
		}
		p.multi = false
		p.objects.SingleProbe, p.objects.Moments, p.objects.Lost = single.Program, single.Moments, single.Lost
	}
	if p.ring, err = bpf.OpenRing(p.objects.Moments); err != nil {
		return nil, errors.Join(err, p.objects.Close())
	}
	return p, nil
}

// Attachment is the probes in one process.
type Attachment struct{ links []link.Link }

// Attach attaches probes to a process, at places of a file that it executes. number, of 24 bits, identifies the process
// in Next.
func (p *Probes) Attach(file string, pid int, number uint32, places []Place) (*Attachment, error) {
	executable, err := link.OpenExecutable(file)
	if err != nil {
		return nil, err
	}
	addresses, cookies, semaphores := make([]uint64, len(places)), make([]uint64, len(places)), make([]uint64, len(places))
	var anySemaphore uint64
	for i, place := range places {
		if place.Offset == 0 {
			return nil, fmt.Errorf("the address of %s is not known", place.Name)
		}
		addresses[i], semaphores[i], cookies[i] = place.Offset, place.Semaphore, place.Argument.cookie()|uint64(number)<<8|uint64(i)
		anySemaphore |= place.Semaphore
	}
	attachment := &Attachment{}
	if p.multi {
		options := &link.UprobeMultiOptions{Addresses: addresses, Cookies: cookies, PID: uint32(pid)}
		if anySemaphore != 0 {
			options.RefCtrOffsets = semaphores
		}
		l, err := executable.UprobeMulti(nil, p.objects.MultiProbe, options)
		if err == nil {
			attachment.links = append(attachment.links, l)
			return attachment, nil
		}
	}
	for i, place := range places {
		l, err := executable.Uprobe(place.Name, p.objects.SingleProbe, &link.UprobeOptions{
			Address: addresses[i], Cookie: cookies[i], RefCtrOffset: semaphores[i], PID: pid,
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("probe %s: %w", place.Name, err), attachment.Close())
		}
		attachment.links = append(attachment.links, l)
	}
	return attachment, nil
}

// cookie is the part that encodes where the argument is; see gctrace.bpf.c.
func (a Argument) cookie() uint64 {
	cookie := uint64(uint16(a.offset))<<32 | uint64(a.register)<<48
	if a.memory {
		cookie |= 1 << 56
	}
	return cookie
}

// Close removes the probes.
func (a *Attachment) Close() error {
	links := a.links
	a.links = nil
	return bpf.CloseLinks(links)
}

// Close removes all probes.
func (p *Probes) Close() error { return errors.Join(p.ring.Close(), p.objects.Close()) }

// Next returns the next moment and the number of the process it belongs to. It does not allocate or block.
func (p *Probes) Next(clock *bpf.Clock) (number uint32, moment Moment, ok bool) {
	for {
		raw := p.ring.Next()
		if raw == nil {
			return 0, Moment{}, false
		}
		if len(raw) < 28 {
			continue
		}
		cookie := binary.NativeEndian.Uint64(raw[8:])
		return uint32(cookie) >> 8, Moment{
			TimeUS: clock.NS(binary.NativeEndian.Uint64(raw)) / 1000,
			Place:  uint8(cookie), Argument: binary.NativeEndian.Uint64(raw[16:]), Thread: binary.NativeEndian.Uint32(raw[24:]),
		}, true
	}
}

// Lost counts moments that did not fit into the ring.
func (p *Probes) Lost() uint64 { return bpf.CounterOf(p.objects.Lost) }
