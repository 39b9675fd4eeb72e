package dnscapture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
)

// tap takes packets in a kernel program that is the socket's filter: it writes the start of each into its own rings and
// passes none to the socket, so the sender is spared the locks, the clock and the wake-up of a packet socket's ring.
type tap struct {
	objects bpf.DNSPacketsObjects
	rings   [2]*bpf.Ring // from servers, to servers
	held    [2][]byte    // by ring: taken and not yet done
	at      int          // the ring of the current packet
	clock   bpf.Clock
	ports   portSet
	taken   atomic.Uint64
}

// portSet has one bit per port, in the layout the program reads.
type portSet [65536 / 64]uint64

// newTap loads the program and makes it the filter of a packet socket.
func newTap(fd int, shape Shape) (*tap, error) {
	t := &tap{}
	err := bpf.Load(bpf.LoadDNSPackets, func(spec *ebpf.CollectionSpec) error {
		bpf.Shrink(spec, "to_servers", uint32(shape.Frames*queryBytes))
		bpf.Shrink(spec, "from_servers", uint32(shape.Frames*answerBytes))
		return nil
	}, &t.objects)
	if err != nil {
		return nil, err
	}
	for i, ring := range []*ebpf.Map{t.objects.FromServers, t.objects.ToServers} {
		if t.rings[i], err = bpf.OpenRing(ring); err != nil {
			return nil, errors.Join(err, t.unmap())
		}
	}
	t.clock.Set()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ATTACH_BPF, t.objects.TakePacket.FD()); err != nil {
		return nil, errors.Join(fmt.Errorf("attach the packet program: %w", err), t.unmap())
	}
	return t, nil
}

// What a query of up to 104 bytes takes in its ring, and an answer over UDP and IPv4; others take up to 328. Ring sizes
// are powers of two.
const (
	queryBytes  = 128
	answerBytes = 64
)

func (t *tap) setPorts(ports []uint16) error {
	t.ports = portSet{}
	for _, port := range ports {
		t.ports[port/64] |= 1 << (port % 64)
	}
	return t.objects.ServerPorts.Put(uint32(0), &t.ports)
}

// Offsets in struct packet of dnspackets.bpf.c.
const (
	tapTime      = 0
	tapInterface = 8
	tapProtocol  = 12
	tapLength    = 14
	tapData      = 16
)

func (t *tap) next(cutoffNS int64, packet *Packet) bool {
	first := int64(math.MaxInt64)
	// Packets from servers come first: whatever they answer is already in the other ring, and earlier.
	for i, ring := range t.rings {
		for t.held[i] == nil {
			if t.held[i] = ring.Next(); t.held[i] == nil {
				break
			}
			if len(t.held[i]) < tapData {
				t.held[i] = nil
			}
		}
		if t.held[i] != nil {
			if at := t.clock.NS(binary.NativeEndian.Uint64(t.held[i][tapTime:])); at <= first {
				first, t.at = at, i
			}
		}
	}
	if first >= cutoffNS {
		return t.wait()
	}
	held := t.held[t.at]
	packet.TimeNS = first
	packet.Interface = int32(binary.NativeEndian.Uint32(held[tapInterface:]))
	packet.EtherType = binary.NativeEndian.Uint16(held[tapProtocol:])
	length := int(binary.NativeEndian.Uint16(held[tapLength:]))
	packet.Data = held[tapData:min(tapData+length, len(held))]
	return true
}

// wait ends a tick: packets that arrive until the next one are dated by the current clocks.
func (t *tap) wait() bool {
	t.clock.Set()
	return false
}

func (t *tap) done() {
	t.held[t.at] = nil
	t.taken.Add(1)
}

func (t *tap) statistics() (packets, drops uint64) {
	lost := bpf.CounterOf(t.objects.Lost)
	return t.taken.Load() + lost, lost
}

func (t *tap) unmap() error {
	var errs []error
	for _, ring := range t.rings {
		if ring != nil {
			errs = append(errs, ring.Close())
		}
	}
	return errors.Join(append(errs, t.objects.Close())...)
}
