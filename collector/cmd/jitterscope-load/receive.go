package main

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	batch      = 64
	packetSize = ednsPayload
)

// message is struct mmsghdr of recvmmsg(2).
type message struct {
	header unix.Msghdr
	length uint32
	_      uint32
}

// receive reads answers in batches until the client stops.
func (c *client) receive(s *socket) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var (
		messages [batch]message
		vectors  [batch]unix.Iovec
		packets  = make([]byte, batch*packetSize)
		control  [batch][64]byte
	)
	for i := range messages {
		vectors[i] = unix.Iovec{Base: &packets[i*packetSize], Len: packetSize}
		messages[i].header.Iov = &vectors[i]
		messages[i].header.Iovlen = 1
		messages[i].header.Control = &control[i][0]
	}
	for {
		for i := range messages {
			messages[i].header.SetControllen(len(control[i]))
		}
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&messages[0])),
			batch, unix.MSG_WAITFORONE, 0, 0)
		switch errno {
		case 0:
		case unix.EAGAIN:
			if c.stop.Load() {
				return nil
			}
			continue
		case unix.EINTR, unix.ECONNREFUSED: // refused: the server is down; its queries time out
			continue
		default:
			return fmt.Errorf("receiving answers: %w", errno)
		}
		now := time.Now().UnixNano()
		for i := range int(n) {
			at := timestamp(control[i][:messages[i].header.Controllen])
			if at == 0 {
				at = now
			}
			c.record(s, packets[i*packetSize:i*packetSize+int(messages[i].length)], at)
		}
	}
}

// timestamp finds the kernel's receive time (ns since the epoch) in control data; 0 if there is none.
func timestamp(control []byte) int64 {
	const headerSize = int(unsafe.Sizeof(unix.Cmsghdr{}))
	if len(control) < headerSize+16 {
		return 0
	}
	header := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	if header.Level != unix.SOL_SOCKET || header.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	at := (*unix.Timespec)(unsafe.Pointer(&control[headerSize]))
	return at.Nano()
}
