package gctrace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
)

// Needs names what probing takes, for SourceStatus.
const Needs = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), CAP_SYS_PTRACE; Linux 5.15"

// Probes attaches to processes. Attach and Detach belong to one goroutine, Drain to another.
type Probes struct {
	objects bpf.GCTraceObjects
	multi   bool
	ring    *bpf.Ring
}

// Open loads the programs.
func Open() (*Probes, error) {
	_ = rlimit.RemoveMemlock() // only needed before Linux 5.11, where failing shows below
	spec, err := bpf.LoadGCTrace()
	if err != nil {
		return nil, err
	}
	defer bpf.Forget()
	p := &Probes{multi: true}
	if err := spec.LoadAndAssign(&p.objects, nil); err != nil {
		// Before Linux 6.6 there is no uprobe_multi: one perf event each does as well.
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

// Attach puts probes on the phases in a process. Cookie identifies the process in Drain.
func (p *Probes) Attach(proc string, pid int, process uint32, offsets map[string]uint64) (*Attachment, error) {
	executable, err := link.OpenExecutable(proc + "/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return nil, err
	}
	addresses := make([]uint64, len(goruntime.Phases))
	cookies := make([]uint64, len(goruntime.Phases))
	for i, name := range goruntime.Phases {
		addresses[i], cookies[i] = offsets[name], uint64(process)<<8|uint64(i)
		if addresses[i] == 0 {
			return nil, fmt.Errorf("the address of %s is not known", name)
		}
	}
	attachment := &Attachment{}
	if p.multi {
		l, err := executable.UprobeMulti(nil, p.objects.MultiProbe, &link.UprobeMultiOptions{
			Addresses: addresses, Cookies: cookies, PID: uint32(pid),
		})
		if err == nil {
			attachment.links = append(attachment.links, l)
			return attachment, nil
		}
	}
	for i, name := range goruntime.Phases {
		l, err := executable.Uprobe(name, p.objects.SingleProbe, &link.UprobeOptions{
			Address: addresses[i], Cookie: cookies[i], PID: pid,
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("probe %s: %w", name, err), attachment.Close())
		}
		attachment.links = append(attachment.links, l)
	}
	return attachment, nil
}

// Close removes the probes.
func (a *Attachment) Close() error {
	var errs []error
	for _, l := range a.links {
		errs = append(errs, l.Close())
	}
	a.links = nil
	return errors.Join(errs...)
}

// Close removes everything.
func (p *Probes) Close() error { return errors.Join(p.ring.Close(), p.objects.Close()) }

// Next returns the next moment and the process it belongs to. It does not allocate or block.
func (p *Probes) Next(clock *bpf.Clock) (process uint32, moment Moment, ok bool) {
	for {
		raw := p.ring.Next()
		if raw == nil {
			return 0, Moment{}, false
		}
		if len(raw) < 24 {
			continue
		}
		cookie := binary.NativeEndian.Uint64(raw[8:])
		return uint32(cookie >> 8), Moment{
			TimeUS: clock.NS(binary.NativeEndian.Uint64(raw)) / 1000,
			Phase:  Phase(cookie & 0xff),
			Reason: binary.NativeEndian.Uint64(raw[16:]) & 0xff, // stwReason is one byte
		}, true
	}
}

// Lost counts moments for which the ring had no room.
func (p *Probes) Lost() uint64 { return bpf.CounterOf(p.objects.Lost) }
