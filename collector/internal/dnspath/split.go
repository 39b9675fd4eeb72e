// Package dnspath learns from the kernel when a DNS server reads each query from its socket.
package dnspath

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// Needs names what it takes, for SourceStatus.
const Needs = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); Linux 6.3 with BTF"

// Split is the attached programs.
type Split struct {
	objects bpf.DNSPathObjects
	links   []link.Link
	ring    *bpf.Ring
	ports   map[uint16]struct{}
	read    dnscapture.Read
}

// Open loads and attaches the programs.
func Open() (*Split, error) {
	_ = rlimit.RemoveMemlock() // only needed before Linux 5.11, where failing shows below
	s := &Split{ports: make(map[uint16]struct{})}
	err := bpf.LoadDNSPathObjects(&s.objects, nil)
	bpf.Forget()
	if err != nil {
		return nil, err
	}
	if s.ring, err = bpf.OpenRing(s.objects.Queries); err != nil {
		return nil, errors.Join(err, s.objects.Close())
	}
	for _, program := range []*ebpf.Program{s.objects.DatagramQueued, s.objects.DatagramRead} {
		l, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("attach %s: %w", program, err), s.Close())
		}
		s.links = append(s.links, l)
	}
	return s, nil
}

// SetPorts replaces the server ports.
func (s *Split) SetPorts(ports []uint16) error {
	wanted := make(map[uint16]struct{}, len(ports))
	var errs []error
	for _, port := range ports {
		wanted[port] = struct{}{}
		if _, ok := s.ports[port]; !ok {
			errs = append(errs, s.objects.Ports.Put(port, uint8(1)))
		}
	}
	for port := range s.ports {
		if _, ok := wanted[port]; !ok {
			errs = append(errs, s.objects.Ports.Delete(port))
		}
	}
	s.ports = wanted
	return errors.Join(errs...)
}

// Tidy empties the table of sockets before those that have ended fill it. It fills itself again: each socket is followed
// from the next moment on at which its queue is empty.
func (s *Split) Tidy() {
	var key uint64
	var sockets []uint64
	queues := s.objects.Queues
	for err := queues.NextKey(nil, &key); err == nil; err = queues.NextKey(key, &key) {
		sockets = append(sockets, key)
	}
	if len(sockets) > int(queues.MaxEntries())/2 {
		for _, socket := range sockets {
			_ = queues.Delete(socket)
		}
	}
}

// Offsets in struct query of dnspath.bpf.c.
const (
	readAt       = 0
	clientAt     = 8
	clientPortAt = 24
	serverPortAt = 26
	idAt         = 28
	queryBytes   = 32
)

// Drain calls take with every query read since the last call. It neither allocates nor blocks.
func (s *Split) Drain(clock *bpf.Clock, take func(*dnscapture.Read)) {
	for {
		raw := s.ring.Next()
		if raw == nil {
			return
		}
		if len(raw) < queryBytes {
			continue
		}
		s.read = dnscapture.Read{
			Client: dnswire.Endpoint{
				Address: dnswire.Address(raw[clientAt : clientAt+16]), Port: binary.NativeEndian.Uint16(raw[clientPortAt:]),
			},
			ServerPort: binary.NativeEndian.Uint16(raw[serverPortAt:]), ID: binary.NativeEndian.Uint16(raw[idAt:]),
			ReadNS: clock.NS(binary.NativeEndian.Uint64(raw[readAt:])),
		}
		take(&s.read)
	}
}

// Lost counts queries for which the ring had no room.
func (s *Split) Lost() uint64 { return bpf.CounterOf(s.objects.Lost) }

// Close detaches.
func (s *Split) Close() error {
	var errs []error
	for _, l := range s.links {
		errs = append(errs, l.Close())
	}
	return errors.Join(append(errs, s.ring.Close(), s.objects.Close())...)
}
