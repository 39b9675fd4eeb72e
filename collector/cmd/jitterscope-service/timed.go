package main

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// longCall is the duration from which a call is reported on standard output: "call", when it ended, and how long it
// took, in µs.
const longCall = 20 * time.Millisecond

// dialer makes connections whose calls are timed, from the last write to the first read.
type dialer struct{ net.Dialer }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &timedConn{Conn: c}, nil
}

type timedConn struct {
	net.Conn
	asked atomic.Int64 // when data was last written, in µs; 0: not waiting for an answer
}

func (c *timedConn) Write(data []byte) (int, error) {
	c.asked.Store(time.Now().UnixMicro())
	return c.Conn.Write(data)
}

func (c *timedConn) Read(buffer []byte) (int, error) {
	n, err := c.Conn.Read(buffer)
	if asked := c.asked.Swap(0); n > 0 && asked != 0 {
		if now := time.Now().UnixMicro(); now-asked > longCall.Microseconds() {
			fmt.Printf("call %d %d\n", now, now-asked)
		}
	}
	return n, err
}
