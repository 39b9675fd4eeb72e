package main

import (
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// connection carries one request at a time.
type connection struct {
	mu     sync.Mutex
	fd     int
	index  int32  // index in connections
	owed   int    // the request that waits for a response; -1: none
	sentNs int64  // when it was sent
	unsent []byte // to be written once the connection is established
	answer answer
	closed bool
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		_ = unix.Close(c.fd)
	}
}

// write sends the i-th request and records it, or does neither if the connection cannot accept it.
func (c *connection) write(h *httpClient, i int, planned int64, request []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	now := time.Now().UnixNano()
	if err := unix.Send(c.fd, request, unix.MSG_NOSIGNAL); err != nil {
		return err
	}
	h.sent(now, planned)
	c.owed, c.sentNs = i, now
	return nil
}

// read reads the first byte of a response separately: the timestamp is that of the last byte read.
func (c *connection) read(buffer []byte) (int, int64, error) {
	if c.answer.firstNs == 0 {
		buffer = buffer[:1]
	}
	var control [64]byte
	n, controls, _, _, err := unix.Recvmsg(c.fd, buffer, control[:], unix.MSG_DONTWAIT)
	if err != nil {
		return 0, 0, err
	}
	at := timestamp(control[:controls])
	if at == 0 {
		at = time.Now().UnixNano()
	}
	return n, at, nil
}

// end closes a connection. A request still waiting for its response has failed.
func (h *httpClient) end(c *connection, err error) {
	c.closed = true
	_ = unix.Close(c.fd)
	if !h.reuse.Load() { // there can be as many as requests
		h.mu.Lock()
		h.free = append(h.free, c.index)
		h.mu.Unlock()
	}
	if c.owed >= 0 {
		code := uint8(resultOther)
		if err == unix.ECONNREFUSED {
			code = resultRefused
		}
		h.answered(c.owed, code, time.Now().UnixNano())
		c.owed = -1
	}
}
