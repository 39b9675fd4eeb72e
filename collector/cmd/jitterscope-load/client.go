package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// client sends queries on a schedule from one thread and receives answers on one thread per socket.
// An answer's time is the kernel's receive timestamp, so a late wake-up here is not mistaken for a slow server.
type client struct {
	queries  []query
	sockets  []*socket
	sentNs   []int64
	delayNs  []int64 // sent minus planned
	answerNs []int64 // 0: none yet
	code     []uint8
	count    int
	wireNs   int64 // from the clock reading before a send to the loopback device
	refused  int   // sends the kernel refused
	stray    atomic.Int64
	stop     atomic.Bool
}

type socket struct {
	fd      int
	pending [1 << 16]atomic.Int32 // query id to index+1 in client's arrays
	packet  [maxQuery]byte        // of the query that an answer belongs to
}

// newClient opens the sockets, from these addresses in turn where there are any.
func newClient(server netip.AddrPort, names []string, unique bool, sockets int, from []netip.Addr, capacity int) (*client, error) {
	c := &client{
		sentNs: make([]int64, 0, capacity), delayNs: make([]int64, 0, capacity),
		answerNs: make([]int64, capacity), code: make([]uint8, capacity),
	}
	for _, name := range names {
		q, err := newQuery(name, unique)
		if err != nil {
			return nil, err
		}
		c.queries = append(c.queries, q)
	}
	for i := range sockets {
		var local netip.Addr
		if len(from) > 0 {
			local = from[i%len(from)]
		}
		fd, err := openSocket(server, local)
		if err != nil {
			c.close()
			return nil, err
		}
		c.sockets = append(c.sockets, &socket{fd: fd})
	}
	return c, nil
}

// socketAddress is one for the kernel, and its family.
func socketAddress(address netip.Addr, port uint16) (int, unix.Sockaddr) {
	if address = address.Unmap(); address.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: address.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: address.As16()}
}

// openSocket connects a UDP socket to the server, from the address local where that is valid.
func openSocket(server netip.AddrPort, local netip.Addr) (int, error) {
	family, address := socketAddress(server.Addr(), server.Port())
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening a UDP socket: %w", err)
	}
	const receiveBuffer = 8 << 20
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer) != nil {
		// Without the privilege the kernel's maximum has to do.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
	}
	if local.IsValid() {
		if _, own := socketAddress(local, 0); unix.Bind(fd, own) != nil {
			_ = unix.Close(fd)
			return -1, fmt.Errorf("%s is no address of this machine to send from", local)
		}
	}
	wake := unix.NsecToTimeval(int64(50 * time.Millisecond))
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wake),
		unix.Connect(fd, address),
	)
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("preparing a UDP socket to %s: %w", server, err)
	}
	return fd, nil
}

func (c *client) close() {
	for _, s := range c.sockets {
		_ = unix.Close(s.fd)
	}
	c.sockets = nil
}

// run sends the whole plan, then waits until every query is answered or has timed out.
func (c *client) run(p *plan, timeout time.Duration) error {
	var receivers sync.WaitGroup
	errs := make([]error, len(c.sockets))
	for i, s := range c.sockets {
		receivers.Go(func() { errs[i] = c.receive(s) })
	}
	err := c.send(p)
	for deadline := time.Now().Add(timeout); err == nil && time.Now().Before(deadline) && !c.allAnswered(); {
		time.Sleep(20 * time.Millisecond)
	}
	c.stop.Store(true)
	receivers.Wait()
	return errors.Join(append(errs, err)...)
}

func (c *client) send(p *plan) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The default 50 µs of timer slack would show in the pacing.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	walk := schedule{plan: p}
	buffer := make([]byte, maxQuery)
	offset := monotonicNs() - time.Now().UnixNano() // plan times are wall clock, sleeping is monotonic
	for i := 0; ; i++ {
		at, ok := walk.next()
		if !ok || i >= cap(c.sentNs) {
			c.count = len(c.sentNs)
			return nil
		}
		planned := p.startNs + at
		if err := sleepUntil(planned + offset); err != nil {
			return err
		}
		c.sendOne(i, planned, buffer)
	}
}

func (c *client) sendOne(i int, planned int64, buffer []byte) {
	s := c.sockets[i%len(c.sockets)]
	id := uint16(i / len(c.sockets))
	query := c.queries[i%len(c.queries)].build(i, buffer)
	binary.BigEndian.PutUint16(query, id)
	now := time.Now().UnixNano()
	c.sentNs = append(c.sentNs, now+c.wireNs)
	c.delayNs = append(c.delayNs, now-planned)
	s.pending[id].Store(int32(i) + 1)
	_, err := unix.Write(s.fd, query)
	if err == unix.ECONNREFUSED { // an ICMP error of an earlier query, reported here: this one was not sent
		_, err = unix.Write(s.fd, query)
	}
	if err != nil {
		c.refused++
	}
}

func (c *client) allAnswered() bool {
	for i := c.count - 1; i >= 0; i-- {
		if atomic.LoadInt64(&c.answerNs[i]) == 0 {
			return false
		}
	}
	return true
}

// record takes one datagram with the time the kernel received it.
func (c *client) record(s *socket, packet []byte, receivedNs int64) {
	if len(packet) < headerLen {
		c.stray.Add(1)
		return
	}
	slot := &s.pending[binary.BigEndian.Uint16(packet)]
	i := int(slot.Load()) - 1
	if i < 0 || !answers(packet, c.queries[i%len(c.queries)].build(i, s.packet[:])) {
		c.stray.Add(1)
		return
	}
	slot.Store(0)
	c.code[i] = resultOf(packet)
	atomic.StoreInt64(&c.answerNs[i], receivedNs)
}
