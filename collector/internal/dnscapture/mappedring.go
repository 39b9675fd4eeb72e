package dnscapture

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappedRing is a packet socket's own ring behind a classic filter: it needs no more than CAP_NET_RAW. It uses
// TPACKET_V2, where a packet is visible at once; version 3 holds it back until a block is full.
type mappedRing struct {
	fd      int
	frames  []byte
	shape   Shape
	at      int
	drops   atomic.Uint64
	packets atomic.Uint64
}

func newMappedRing(fd int, shape Shape) (*mappedRing, error) {
	r := &mappedRing{fd: fd, shape: shape}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2); err != nil {
		return nil, fmt.Errorf("packet ring version 2: %w", err)
	}
	perBlock := shape.framesPerBlock()
	request := unix.TpacketReq{
		Block_size: uint32(shape.FrameBytes * perBlock), Block_nr: uint32(shape.Frames / perBlock),
		Frame_size: uint32(shape.FrameBytes), Frame_nr: uint32(shape.Frames),
	}
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		return nil, fmt.Errorf("packet ring: %w", err)
	}
	frames, err := unix.Mmap(fd, 0, shape.FrameBytes*shape.Frames, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map packet ring: %w", err)
	}
	r.frames = frames
	return r, nil
}

// framesPerBlock makes a block a whole number of pages, whether these have 4 KiB or up to 64 KiB.
func (s Shape) framesPerBlock() int {
	if os.Getpagesize() == 4096 {
		return 32
	}
	return min(512, s.Frames)
}

func (r *mappedRing) setPorts(ports []uint16) error {
	filter, err := Filter(ports, uint32(r.shape.FrameBytes))
	if err != nil {
		return err
	}
	raw := make([]unix.SockFilter, len(filter))
	for i, instruction := range filter {
		raw[i] = unix.SockFilter{Code: instruction.Op, Jt: instruction.Jt, Jf: instruction.Jf, K: instruction.K}
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]}
	if err := unix.SetsockoptSockFprog(r.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
		return fmt.Errorf("packet filter: %w", err)
	}
	return nil
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

func (r *mappedRing) next(cutoffNS int64, packet *Packet) bool {
	frame := r.frames[r.at*r.shape.FrameBytes:][:r.shape.FrameBytes]
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

func (r *mappedRing) done() {
	status := (*uint32)(unsafe.Pointer(&r.frames[r.at*r.shape.FrameBytes+headerStatus]))
	atomic.StoreUint32(status, unix.TP_STATUS_KERNEL)
	r.at = (r.at + 1) % r.shape.Frames
}

// The kernel resets its counters at each read.
func (r *mappedRing) statistics() (packets, drops uint64) {
	if stats, err := unix.GetsockoptTpacketStats(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		r.packets.Add(uint64(stats.Packets))
		r.drops.Add(uint64(stats.Drops))
	}
	return r.packets.Load(), r.drops.Load()
}

func (r *mappedRing) unmap() error { return unix.Munmap(r.frames) }
