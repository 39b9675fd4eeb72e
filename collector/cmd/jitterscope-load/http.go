package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// maxConnections is far above what a server that stalls for seconds needs, and below the number of ports of one
// address.
const maxConnections = 20_000

// httpClient sends HTTP/1.1 requests on a schedule. Each takes an idle connection or opens another, so none waits
// behind another. A response's time is when the kernel received its first byte, or when the last one was read: the kernel
// can receive that before others. A request that times out takes its connection with it.
type httpClient struct {
	ledger
	server      netip.AddrPort
	from        []netip.Addr
	reuse       atomic.Bool
	ready       int
	whole       bool
	requests    [][]byte
	epoll       int
	opened      int
	mu          sync.Mutex
	connections []*connection // guarded by mu, in the order opened
	idle        []*connection // guarded by mu, most recently used last
	free        []int32       // guarded by mu, indexes of closed ones in connections
	stop        atomic.Bool
}

type httpOptions struct {
	reuse bool // otherwise each request has its own connection
	whole bool // a response's time is when all of it was read
	ready int  // connections opened before the first request
}

func newHTTPClient(server netip.AddrPort, paths []string, from []netip.Addr, o httpOptions, capacity int) (*httpClient, error) {
	h := &httpClient{ledger: newLedger(capacity), server: server, from: from, ready: o.ready, whole: o.whole}
	h.reuse.Store(o.reuse)
	for _, path := range paths {
		h.requests = append(h.requests, fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, server))
	}
	var err error
	if h.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("making an epoll: %w", err)
	}
	return h, nil
}

func (h *httpClient) close() {
	for _, c := range h.connections {
		c.close()
	}
	_ = unix.Close(h.epoll)
}

func (h *httpClient) run(p *plan, timeout time.Duration) error {
	// Clients that start to reuse their connections while running.
	keep := make(chan os.Signal, 1)
	signal.Notify(keep, unix.SIGUSR1)
	defer signal.Stop(keep)
	go func() {
		for range keep {
			h.reuse.Store(true)
		}
	}()
	received := make(chan error, 1)
	go func() { received <- h.receive(timeout) }()
	err := h.prepare()
	if err == nil {
		err = h.pace(p, h.send)
	}
	if err == nil {
		h.awaitAnswers(timeout)
	}
	h.stop.Store(true)
	return errors.Join(err, <-received)
}

// prepare opens connections one after another, as clients that keep them do.
func (h *httpClient) prepare() error {
	for range h.ready {
		c, err := h.open()
		if err != nil {
			return err
		}
		if err := h.watch(c); err != nil {
			return err
		}
		h.mu.Lock()
		h.idle = append(h.idle, c)
		h.mu.Unlock()
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

// send measures a request from when it is written or, if it has to wait for the connection, from when the connection
// was requested.
func (h *httpClient) send(i int, planned int64) error {
	request := h.requests[i%len(h.requests)]
	for {
		c := h.take()
		if c == nil {
			break
		}
		// The server has closed this connection in the meantime: try another.
		if c.write(h, i, planned, request) == nil {
			return nil
		}
	}
	h.mu.Lock()
	full := len(h.connections) == maxConnections && len(h.free) == 0
	h.mu.Unlock()
	if full {
		h.sent(time.Now().UnixNano(), planned)
		h.refused++
		return nil
	}
	asked := time.Now().UnixNano()
	c, err := h.open()
	if err != nil {
		return err
	}
	if refused := c.write(h, i, planned, request); refused != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		h.sent(asked, planned)
		c.owed, c.sentNs, c.unsent = i, asked, request
		if refused != unix.EAGAIN { // its connection is not being established either
			h.end(c, refused)
			return nil
		}
	}
	return h.watch(c)
}

// take returns the connection that became idle last, or nil.
func (h *httpClient) take() *connection {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.idle) - 1
	if last < 0 {
		return nil
	}
	c := h.idle[last]
	h.idle = h.idle[:last]
	return c
}

func (h *httpClient) open() (*connection, error) {
	family, address := socketAddress(h.server.Addr(), h.server.Port())
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return nil, fmt.Errorf("opening a TCP socket: %w", err)
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
	)
	if len(h.from) > 0 && err == nil {
		_, own := socketAddress(h.from[h.opened%len(h.from)], 0)
		err = errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1), unix.Bind(fd, own))
	}
	if err == nil {
		if err = unix.Connect(fd, address); err == unix.EINPROGRESS || err == unix.ECONNREFUSED {
			err = nil // epoll reports the outcome
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("connecting to %s: %w", h.server, err)
	}
	c := &connection{fd: fd, owed: -1}
	h.opened++
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := len(h.free) - 1; last >= 0 {
		c.index = h.free[last]
		h.free = h.free[:last]
		h.connections[c.index] = c
	} else {
		c.index = int32(len(h.connections))
		h.connections = append(h.connections, c)
	}
	return c, nil
}

// watch registers the connection with epoll for all events, including those that have already happened.
func (h *httpClient) watch(c *connection) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: c.index}
	if err := unix.EpollCtl(h.epoll, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
		return fmt.Errorf("watching a connection: %w", err)
	}
	return nil
}

// receive handles connection events until the client stops.
func (h *httpClient) receive(timeout time.Duration) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const every = 50 * time.Millisecond
	events, buffer := make([]unix.EpollEvent, 256), make([]byte, 64<<10)
	for next := time.Now(); !h.stop.Load(); {
		if now := time.Now(); now.After(next) {
			h.giveUp(now.Add(-timeout).UnixNano())
			next = now.Add(every)
		}
		n, err := unix.EpollWait(h.epoll, events, int(every/time.Millisecond))
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("waiting for answers: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			h.mu.Lock()
			c := h.connections[event.Fd]
			h.mu.Unlock()
			h.happened(c, buffer)
		}
	}
	h.giveUp(time.Now().Add(-timeout).UnixNano())
	return nil
}

// giveUp closes the connections of requests sent before beforeNs.
func (h *httpClient) giveUp(beforeNs int64) {
	h.mu.Lock()
	all := slices.Clone(h.connections)
	h.mu.Unlock()
	for _, c := range all {
		c.mu.Lock()
		if !c.closed && c.owed >= 0 && c.sentNs < beforeNs {
			c.owed = -1 // no response
			h.end(c, nil)
		}
		c.mu.Unlock()
	}
}

func (h *httpClient) happened(c *connection, buffer []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.unsent != nil {
		switch err := unix.Send(c.fd, c.unsent, unix.MSG_NOSIGNAL); err {
		case nil:
			c.unsent = nil
		case unix.EAGAIN:
		default:
			h.end(c, err)
			return
		}
	}
	for {
		n, at, err := c.read(buffer)
		switch {
		case err == unix.EAGAIN:
			return
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			h.end(c, err)
			return
		}
		c.answer.take(buffer[:n], at)
		if c.answer.broken {
			h.end(c, nil)
			return
		}
		if c.answer.whole() {
			if c.owed < 0 {
				h.stray.Add(1)
				h.end(c, nil)
				return
			}
			at := c.answer.firstNs
			if h.whole {
				at = time.Now().UnixNano()
			}
			h.answered(c.owed, c.answer.code, at)
			c.owed = -1
			c.answer.clear()
			if !h.reuse.Load() {
				h.end(c, nil)
				return
			}
			h.mu.Lock()
			h.idle = append(h.idle, c)
			h.mu.Unlock()
		}
	}
}
