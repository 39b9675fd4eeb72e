// Package dnspath learns from the kernel when a DNS server reads each query from its socket.
package dnspath

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// Needs lists the requirements, for SourceStatus.
const Needs = "CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN); Linux 6.3 with BTF"

// Split is the attached programs.
type Split struct {
	objects bpf.DNSPathObjects
	links   []link.Link
	memory  []byte
	queues  []bpf.DNSPathQueue // the mapped ones; the programs write them
	seen    []uint64           // by queue: the number of the last datagram taken
	lost    atomic.Uint64
	ports   map[uint16]struct{}
	read    dnscapture.Read
}

// Open loads and attaches the programs.
func Open() (*Split, error) {
	s := &Split{ports: make(map[uint16]struct{})}
	if err := bpf.Load(bpf.LoadDNSPath, nil, &s.objects); err != nil {
		return nil, err
	}
	if err := s.mapQueues(1); err != nil {
		return nil, errors.Join(err, s.objects.Close())
	}
	s.seen = make([]uint64, s.objects.Queues.MaxEntries())
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

// Tidy empties the table of sockets before closed ones fill it. It refills by itself: each socket is followed again
// from the next moment at which its queue is empty.
func (s *Split) Tidy() {
	var key uint64
	var sockets []uint64
	places := s.objects.Places
	for err := places.NextKey(nil, &key); err == nil; err = places.NextKey(key, &key) {
		sockets = append(sockets, key)
	}
	if len(sockets) > int(places.MaxEntries())/2 {
		for _, socket := range sockets {
			_ = places.Delete(socket)
		}
	}
}

// mapQueues maps the first queues of the table. All pages of a mapping are resident from the start, 4 MiB for the whole
// table, and most nodes use few sockets.
func (s *Split) mapQueues(count int) error {
	size := count * int(unsafe.Sizeof(bpf.DNSPathQueue{}))
	memory, err := unix.Mmap(s.objects.Queues.FD(), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %d queues: %w", count, err)
	}
	if s.memory != nil {
		_ = unix.Munmap(s.memory)
	}
	s.memory = memory
	s.queues = unsafe.Slice((*bpf.DNSPathQueue)(unsafe.Pointer(&memory[0])), count)
	return nil
}

// Drain calls take with every query read since the last call. It neither allocates nor blocks, except that it maps more
// of the table while the number of sockets grows.
func (s *Split) Drain(clock *bpf.Clock, take func(*dnscapture.Read)) {
	for place := 0; place < len(s.queues); place++ {
		queue := &s.queues[place]
		if atomic.LoadUint64(&queue.Queued) == 0 {
			return // places are given out in order
		}
		s.drain(queue, &s.seen[place], clock, take)
		if place == len(s.queues)-1 && len(s.queues) < len(s.seen) {
			// If it fails the next call tries again; the table keeps what was read in the meantime.
			_ = s.mapQueues(min(2*len(s.queues), len(s.seen)))
		}
	}
}

const depth = uint64(len(bpf.DNSPathQueue{}.Datagrams))

// drain takes what was read after datagram number seen.
func (s *Split) drain(queue *bpf.DNSPathQueue, seen *uint64, clock *bpf.Clock, take func(*dnscapture.Read)) {
	read := atomic.LoadUint64(&queue.Read)
	if read-*seen > depth {
		s.lost.Add(read - *seen - depth)
		*seen = read - depth
	}
	for ; *seen < read; *seen++ {
		number := *seen + 1
		d := &queue.Datagrams[number%depth]
		overwritten := atomic.LoadUint32(&d.Number) != uint32(number)
		readNS := atomic.LoadUint64(&d.ReadNs)
		s.read = dnscapture.Read{
			Client:     dnswire.Endpoint{Address: d.Client, Port: d.ClientPort},
			ServerPort: queue.ServerPort, ID: d.Id, ReadNS: clock.NS(readNS),
		}
		if overwritten || atomic.LoadUint32(&d.Number) != uint32(number) {
			s.lost.Add(1)
			continue
		}
		if readNS == 0 && number == read {
			return // being written: retry next time
		}
		if readNS != 0 && s.read.Client.Port != 0 {
			take(&s.read)
		}
	}
}

// Lost counts queries that were overwritten before they were taken.
func (s *Split) Lost() uint64 { return s.lost.Load() }

// Close detaches the programs.
func (s *Split) Close() error {
	return errors.Join(bpf.CloseLinks(s.links), unix.Munmap(s.memory), s.objects.Close())
}
