package dnscapture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Needs names what capturing takes, for SourceStatus.
const Needs = "CAP_NET_RAW"

// Shape is the size of a ring. Frames hold the kernel's header (80 bytes) and the start of a packet.
type Shape struct{ FrameBytes, Frames int }

// Rings. 432 bytes of packet hold the headers and any question, or a few short ones in a TCP segment; 4096 frames are 0.4 s
// at 5,000 queries/s. Those in containers' namespaces are small.
var (
	Ring      = Shape{FrameBytes: 512, Frames: 4096}
	SmallRing = Shape{FrameBytes: 512, Frames: 1024}
)

// framesPerBlock makes blocks a whole number of pages, of 4 KiB or up to 64 KiB.
func (s Shape) framesPerBlock() int {
	if os.Getpagesize() == 4096 {
		return 32
	}
	return min(512, s.Frames)
}

// Packet is one captured packet. Data starts at the network header and is valid until the next one.
type Packet struct {
	TimeNS    int64 // since the Unix epoch, stamped by the kernel
	EtherType uint16
	Interface int32
	Data      []byte
}

// Socket is a packet socket with a ring that the kernel writes into (TPACKET_V2: a packet is visible at once, where
// version 3 holds it back until a block is full).
type Socket struct {
	fd      int
	ring    []byte
	shape   Shape
	next    int
	drops   atomic.Uint64
	packets atomic.Uint64
}

// Open makes a socket in the network namespace of the calling thread, on all interfaces.
func Open(shape Shape, ports []uint16) (*Socket, error) {
	// With protocol 0 nothing arrives before everything is set up.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	s := &Socket{fd: fd, shape: shape}
	if err := s.setUp(ports); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Socket) setUp(ports []uint16) error {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2); err != nil {
		return fmt.Errorf("packet ring version 2: %w", err)
	}
	if err := s.SetPorts(ports); err != nil {
		return err
	}
	perBlock := s.shape.framesPerBlock()
	request := unix.TpacketReq{
		Block_size: uint32(s.shape.FrameBytes * perBlock), Block_nr: uint32(s.shape.Frames / perBlock),
		Frame_size: uint32(s.shape.FrameBytes), Frame_nr: uint32(s.shape.Frames),
	}
	if err := unix.SetsockoptTpacketReq(s.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		return fmt.Errorf("packet ring: %w", err)
	}
	ring, err := unix.Mmap(s.fd, 0, s.shape.FrameBytes*s.shape.Frames, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map packet ring: %w", err)
	}
	s.ring = ring
	all := unix.SockaddrLinklayer{Protocol: hostToNetwork(unix.ETH_P_ALL)}
	if err := unix.Bind(s.fd, &all); err != nil {
		return fmt.Errorf("bind packet socket: %w", err)
	}
	return nil
}

func hostToNetwork(value uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, value))
}

// SetPorts replaces the server ports of the kernel's filter.
func (s *Socket) SetPorts(ports []uint16) error {
	filter, err := Filter(ports, uint32(s.shape.FrameBytes))
	if err != nil {
		return err
	}
	raw := make([]unix.SockFilter, len(filter))
	for i, instruction := range filter {
		raw[i] = unix.SockFilter{Code: instruction.Op, Jt: instruction.Jt, Jf: instruction.Jf, K: instruction.K}
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]}
	if err := unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
		return fmt.Errorf("packet filter: %w", err)
	}
	return nil
}

// SetOutgoing tells whether packets on their way out are wanted too. Where every server listens on loopback they are not:
// there each arrives again, and the kernel is spared a copy. Before Linux 4.20 they are always taken.
func (s *Socket) SetOutgoing(wanted bool) {
	ignore := 1
	if wanted {
		ignore = 0
	}
	_ = unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, ignore)
}

// Offsets in struct tpacket2_hdr and the sockaddr_ll behind it (linux/if_packet.h).
const (
	headerStatus   = 0
	headerSnaplen  = 8
	headerNetwork  = 14
	headerSeconds  = 16
	headerNanos    = 20
	headerBytes    = 32
	addressProto   = headerBytes + 2
	addressIfindex = headerBytes + 4
)

// Next takes the next packet stamped before cutoffNS; it reports false where there is none yet. Done must be called
// before the following Next.
func (s *Socket) Next(cutoffNS int64, packet *Packet) bool {
	if s.ring == nil {
		return false
	}
	frame := s.ring[s.next*s.shape.FrameBytes:][:s.shape.FrameBytes]
	status := (*uint32)(unsafe.Pointer(&frame[headerStatus]))
	if atomic.LoadUint32(status)&unix.TP_STATUS_USER == 0 {
		return false
	}
	packet.TimeNS = int64(binary.NativeEndian.Uint32(frame[headerSeconds:]))*1_000_000_000 +
		int64(binary.NativeEndian.Uint32(frame[headerNanos:]))
	if packet.TimeNS >= cutoffNS {
		return false
	}
	packet.EtherType = binary.BigEndian.Uint16(frame[addressProto:])
	packet.Interface = int32(binary.NativeEndian.Uint32(frame[addressIfindex:]))
	start := int(binary.NativeEndian.Uint16(frame[headerNetwork:]))
	end := start + int(binary.NativeEndian.Uint32(frame[headerSnaplen:]))
	packet.Data = frame[min(start, len(frame)):min(end, len(frame))]
	return true
}

// Done gives the frame of the last packet back to the kernel.
func (s *Socket) Done() {
	status := (*uint32)(unsafe.Pointer(&s.ring[s.next*s.shape.FrameBytes+headerStatus]))
	atomic.StoreUint32(status, unix.TP_STATUS_KERNEL)
	s.next = (s.next + 1) % s.shape.Frames
}

// Statistics returns how many packets passed the filter since the socket was opened, and how many of these found the ring
// full. The kernel resets its counters at each reading, so one goroutine reads them.
func (s *Socket) Statistics() (packets, drops uint64) {
	if stats, err := unix.GetsockoptTpacketStats(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		s.packets.Add(uint64(stats.Packets))
		s.drops.Add(uint64(stats.Drops))
	}
	return s.packets.Load(), s.drops.Load()
}

// Close unmaps the ring.
func (s *Socket) Close() error {
	var err error
	if s.ring != nil {
		err = unix.Munmap(s.ring)
		s.ring = nil
	}
	return errors.Join(err, unix.Close(s.fd))
}
