package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// client sends queries on a schedule from one thread and receives answers on one thread per socket. An answer's time is
// the kernel's receive timestamp, so a late wake-up here is not mistaken for a slow server.
type client struct {
	ledger
	queries []query
	sockets []*socket
	stop    atomic.Bool
}

type socket struct {
	fd      int
	pending [1 << 16]atomic.Int32 // query id to index+1 in client's arrays
	packet  [maxQuery]byte        // the query that an answer belongs to
}

// newClient opens the sockets, bound to the given addresses in turn if there are any.
func newClient(server netip.AddrPort, names []string, unique bool, sockets int, from []netip.Addr, capacity int) (*client, error) {
	c := &client{ledger: newLedger(capacity)}
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

// socketAddress converts an address for the kernel and returns its family.
func socketAddress(address netip.Addr, port uint16) (int, unix.Sockaddr) {
	if address = address.Unmap(); address.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: address.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: address.As16()}
}

// openSocket connects a UDP socket to the server, from the address local if that is valid.
func openSocket(server netip.AddrPort, local netip.Addr) (int, error) {
	family, address := socketAddress(server.Addr(), server.Port())
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening a UDP socket: %w", err)
	}
	const receiveBuffer = 8 << 20
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer) != nil {
		// Without the privilege, the kernel's maximum must suffice.
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
	}
	if local.IsValid() {
		if _, own := socketAddress(local, 0); unix.Bind(fd, own) != nil {
			_ = unix.Close(fd)
			return -1, fmt.Errorf("%s is not an address of this machine to send from", local)
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
	buffer := make([]byte, maxQuery)
	err := c.pace(p, func(i int, planned int64) error { c.sendOne(i, planned, buffer); return nil })
	if err == nil {
		c.awaitAnswers(timeout)
	}
	c.stop.Store(true)
	receivers.Wait()
	return errors.Join(append(errs, err)...)
}

func (c *client) sendOne(i int, planned int64, buffer []byte) {
	s := c.sockets[i%len(c.sockets)]
	id := uint16(i / len(c.sockets))
	query := c.queries[i%len(c.queries)].build(i, buffer)
	binary.BigEndian.PutUint16(query, id)
	c.sent(time.Now().UnixNano(), planned)
	s.pending[id].Store(int32(i) + 1)
	_, err := unix.Write(s.fd, query)
	if err == unix.ECONNREFUSED { // an ICMP error for an earlier query, reported here: this one was not sent
		_, err = unix.Write(s.fd, query)
	}
	if err != nil {
		c.refused++
	}
}

// record handles one datagram and the time the kernel received it.
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
	c.answered(i, resultOf(packet), receivedNs)
}
