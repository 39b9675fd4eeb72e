package dnscapture

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Needs lists the requirements of capturing, for SourceStatus.
const Needs = "CAP_NET_RAW"

// Shape is the size of a ring. Frames hold the kernel's header (80 bytes) and the start of a packet.
type Shape struct{ FrameBytes, Frames int }

// Rings. 304 bytes of packet hold the headers and any question (over IPv6 any but the very longest), or a few short
// ones in a TCP segment; 4096 frames are 0.4 s at 5,000 queries/s. Rings in containers' namespaces are small, and so is
// the host's until there is a DNS server.
var (
	Ring      = Shape{FrameBytes: 384, Frames: 4096}
	SmallRing = Shape{FrameBytes: 384, Frames: 1024}
)

// Packet is one captured packet. Data starts at the network header and is valid until the next one.
type Packet struct {
	TimeNS    int64 // since the Unix epoch, stamped by the kernel
	EtherType uint16
	Interface int32
	Data      []byte
}

// Socket is a packet socket. If the kernel permits, a program takes the packets (tap); otherwise they come through a
// ring that the kernel writes to (mappedRing).
type Socket struct {
	fd     int
	ring   packetRing
	closed bool
}

// packetRing is where packets wait. Each method except statistics is called by one goroutine at a time.
type packetRing interface {
	setPorts(ports []uint16) error
	next(cutoffNS int64, packet *Packet) bool
	done()
	statistics() (packets, drops uint64)
	unmap() error
}

// Open creates a socket in the network namespace of the calling thread, on all interfaces.
func Open(shape Shape, ports []uint16) (*Socket, error) {
	return open(ports, func(fd int) (packetRing, error) {
		if t, err := newTap(fd, shape); err == nil {
			return t, nil
		}
		return newMappedRing(fd, shape)
	})
}

func open(ports []uint16, newRing func(fd int) (packetRing, error)) (*Socket, error) {
	// With protocol 0 nothing arrives before everything is set up.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	ring, err := newRing(fd)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	s := &Socket{fd: fd, ring: ring}
	if err := ring.setPorts(ports); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	all := unix.SockaddrLinklayer{Protocol: hostToNetwork(unix.ETH_P_ALL)}
	if err := unix.Bind(fd, &all); err != nil {
		return nil, errors.Join(fmt.Errorf("bind packet socket: %w", err), s.Close())
	}
	return s, nil
}

func hostToNetwork(value uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, value))
}

// SetPorts replaces the server ports of the kernel's filter.
func (s *Socket) SetPorts(ports []uint16) error { return s.ring.setPorts(ports) }

// SetOutgoing sets whether outgoing packets are wanted too. They are not if every server listens on loopback: there
// each packet also arrives, and the kernel saves a copy. Before Linux 4.20 they are always taken.
func (s *Socket) SetOutgoing(wanted bool) {
	ignore := 1
	if wanted {
		ignore = 0
	}
	_ = unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, ignore)
}

// Next takes the next packet stamped before cutoffNS; it returns false if there is none yet. Done must be called before
// the following Next.
func (s *Socket) Next(cutoffNS int64, packet *Packet) bool {
	return !s.closed && s.ring.next(cutoffNS, packet)
}

// Done returns the space of the last packet to the kernel.
func (s *Socket) Done() { s.ring.done() }

// Statistics returns how many packets passed the filter since the socket was opened, and how many of these found the
// ring full. One goroutine reads them.
func (s *Socket) Statistics() (packets, drops uint64) { return s.ring.statistics() }

// Close closes the socket; packets taken before become invalid.
func (s *Socket) Close() error {
	s.closed = true
	return errors.Join(s.ring.unmap(), unix.Close(s.fd))
}
