// Package requests times the requests of TCP servers, whatever their protocol, from kernel events on their sockets.
package requests

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/http2head"
)

// Needs lists the requirements, for SourceStatus.
const Needs = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); Linux 6.3 with BTF"

// Places is how many servers the programs can distinguish.
const Places = 512

// noServer is the place of no server.
const noServer = ^uint32(0)

const ticks = uint32(len(bpf.RequestsCounts{}.Came))

// How a request ended, as reported by the programs; the last one is reported by heads.
const (
	answered = iota
	abandoned
	withdrawn
	connected // not a request: a client has a connection
	synackResent
	resent    // not a request: data was retransmitted
	recovered // it was delivered, or never will be
	// A request that was answered before gets its status, which came with the trailers of its answer.
	statusCame
)

// Programs is the attached programs.
type Programs struct {
	objects bpf.RequestsObjects
	links   []link.Link
	ring    *bpf.Ring
	calls   *bpf.Ring
	memory  []byte
	counts  []bpf.RequestsCounts // by place; the programs count there
	clock   []byte
	wall    *uint64

	ports     map[uint64]bpf.RequestsServer
	served    map[uint32]uint64 // one bit per port
	addresses map[bpf.RequestsAddress]bpf.RequestsServer
	callers   map[uint32]uint32
	blind     bool
	heads     heads
}

// Blind reports whether the kernel does not let the programs read packets.
func (p *Programs) Blind() bool { return p.blind }

// Open loads and attaches the programs. readsStatus: unencrypted HTTP answers are counted by the class of their
// status. readsKinds: the first bytes of requests are read.
func Open(readsStatus, readsKinds bool) (*Programs, error) {
	p := &Programs{ports: make(map[uint64]bpf.RequestsServer), addresses: make(map[bpf.RequestsAddress]bpf.RequestsServer)}
	p.heads.known = http2head.NewConnections()
	load := func(variables map[string]uint32) error {
		set := func(spec *ebpf.CollectionSpec) error {
			err := spec.Variables["slow_ns"].Set(uint64(catalogue.SlowUS+1) * 1000) // latencies are in whole microseconds
			for name, value := range variables {
				err = errors.Join(err, spec.Variables[name].Set(value))
			}
			return err
		}
		return bpf.Load(bpf.LoadRequests, set, &p.objects)
	}
	if err := load(map[string]uint32{"reads_status": number(readsStatus), "reads_heads": number(readsKinds)}); err != nil {
		// Before Linux 6.12 such programs are not permitted to read packets: frames that keep HTTP/2 connections alive
		// look like requests, and neither statuses nor kinds are known.
		if load(map[string]uint32{"reads_packets": 0}) != nil {
			return nil, err
		}
		p.blind = true
	}
	if err := p.open(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func number(set bool) uint32 {
	if set {
		return 1
	}
	return 0
}

func (p *Programs) open() (err error) {
	if p.ring, err = bpf.OpenRing(p.objects.Requests); err != nil {
		return fmt.Errorf("open the ring: %w", err)
	}
	if p.calls, err = bpf.OpenRing(p.objects.Calls); err != nil {
		return fmt.Errorf("open the ring of calls: %w", err)
	}
	if p.memory, err = mapAll(p.objects.Arrivals, Places*int(unsafe.Sizeof(bpf.RequestsCounts{}))); err != nil {
		return err
	}
	p.counts = unsafe.Slice((*bpf.RequestsCounts)(unsafe.Pointer(&p.memory[0])), Places)
	if p.clock, err = mapAll(p.objects.Wall, 8); err != nil {
		return err
	}
	p.wall = (*uint64)(unsafe.Pointer(&p.clock[0]))
	var clock bpf.Clock
	clock.Set()
	p.setClock(&clock)
	return p.Attach()
}

// Attach lets the programs see events. They know what they knew when they were detached.
func (p *Programs) Attach() error {
	programs := []*ebpf.Program{
		p.objects.SegmentCame, p.objects.DataRead, p.objects.PacketLeft, p.objects.StateSet,
		p.objects.SegmentResent, p.objects.SynackResent,
	}
	for _, program := range programs {
		l, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err != nil {
			return fmt.Errorf("attach %s: %w", program, err)
		}
		p.links = append(p.links, l)
	}
	return nil
}

// Detach ends what the programs see, until they are attached again.
func (p *Programs) Detach() error {
	links := p.links
	p.links = nil
	return bpf.CloseLinks(links)
}

func mapAll(m *ebpf.Map, size int) ([]byte, error) {
	memory, err := unix.Mmap(m.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", m, err)
	}
	return memory, nil
}

// setClock gives the programs the current time, for the ticks in which they count.
func (p *Programs) setClock(clock *bpf.Clock) { atomic.StoreUint64(p.wall, uint64(clock.NS(0))) }

// Endpoint is where a server listens.
type Endpoint struct {
	Namespace uint64 // inode of the network namespace
	dnswire.Endpoint
}

// place identifies a server in the programs: its place in the counts, and a generation among the servers that have had
// it.
type place struct{ number, generation uint32 }

// setEndpoints replaces the table of which server listens where.
func (p *Programs) setEndpoints(endpoints map[Endpoint]place) error {
	ports := make(map[uint64]bpf.RequestsServer)
	addresses := make(map[bpf.RequestsAddress]bpf.RequestsServer)
	shared := make(map[uint64]bool) // by several servers
	for endpoint, at := range endpoints {
		key := endpoint.Namespace<<16 | uint64(endpoint.Port)
		if known, ok := ports[key]; ok && known.Number != at.number {
			shared[key] = true
		}
		ports[key] = bpf.RequestsServer{Number: at.number, Generation: at.generation}
	}
	for key := range shared {
		ports[key] = bpf.RequestsServer{Number: noServer, ByAddress: 1}
	}
	for endpoint, at := range endpoints {
		key := endpoint.Namespace<<16 | uint64(endpoint.Port)
		switch {
		case !shared[key]:
		case endpoint.Address.IsWildcard():
			ports[key] = bpf.RequestsServer{Number: at.number, Generation: at.generation, ByAddress: 1}
		default:
			address := bpf.RequestsAddress{Port: key, Local: endpoint.Address}
			addresses[address] = bpf.RequestsServer{Number: at.number, Generation: at.generation}
		}
	}
	served := make(map[uint32]uint64)
	for endpoint := range endpoints {
		served[uint32(endpoint.Port)>>6] |= 1 << (endpoint.Port & 63)
	}
	for word := range p.served {
		served[word] |= 0 // also if no port is left: nothing is deleted from an array
	}
	err := replace(p.objects.Addresses, p.addresses, addresses) // first, because ports refer to them
	p.addresses = addresses
	err = errors.Join(err, replace(p.objects.Ports, p.ports, ports))
	p.ports = ports
	err = errors.Join(err, replace(p.objects.Served, p.served, served))
	p.served = served
	return err
}

// replace updates a kernel map from its previous content to the wanted one.
func replace[K, V comparable](m *ebpf.Map, was, wanted map[K]V) error {
	var errs []error
	for key := range was {
		if _, ok := wanted[key]; !ok {
			errs = append(errs, m.Delete(&key))
		}
	}
	for key, value := range wanted {
		if old, ok := was[key]; !ok || old != value {
			errs = append(errs, m.Put(&key, &value))
		}
	}
	return errors.Join(errs...)
}

// nextCall returns the next finished call, nil if there is none. It is valid until the next call.
func (p *Programs) nextCall() *bpf.RequestsCall {
	record := p.calls.Next()
	if len(record) < int(unsafe.Sizeof(bpf.RequestsCall{})) {
		return nil
	}
	return (*bpf.RequestsCall)(unsafe.Pointer(&record[0]))
}

// setCallers replaces the processes whose calls are reported.
func (p *Programs) setCallers(callers map[uint32]uint32) error {
	err := replace(p.objects.Callers, p.callers, callers)
	p.callers = callers
	return err
}

// followConnections walks the files of all processes once.
func (p *Programs) followConnections() error {
	iterator, err := link.AttachIter(link.IterOptions{Program: p.objects.ConnectionFound})
	if err != nil {
		return fmt.Errorf("attach %s: %w", p.objects.ConnectionFound, err)
	}
	defer func() { _ = iterator.Close() }()
	files, err := iterator.Open()
	if err != nil {
		return fmt.Errorf("walk open files: %w", err)
	}
	defer func() { _ = files.Close() }()
	_, err = io.Copy(io.Discard, files)
	return err
}

// Lost counts finished requests and calls that did not fit into a ring.
func (p *Programs) Lost() uint64 { return bpf.CounterOf(p.objects.Lost) }

// Astray counts how often the boundaries of HTTP/2 frames were lost, and their connection was timed like any other.
func (p *Programs) Astray() uint64 { return bpf.CounterOf(p.objects.Astray) }

// Close detaches the programs.
func (p *Programs) Close() error {
	errs := []error{p.Detach()}
	for _, ring := range []*bpf.Ring{p.ring, p.calls} {
		if ring != nil {
			errs = append(errs, ring.Close())
		}
	}
	for _, memory := range [][]byte{p.memory, p.clock} {
		if memory != nil {
			errs = append(errs, unix.Munmap(memory))
		}
	}
	return errors.Join(append(errs, p.objects.Close())...)
}
