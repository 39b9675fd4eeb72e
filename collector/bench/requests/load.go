package main

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// load is the connections over which the server is asked, one request at a time on each.
type load struct {
	answered atomic.Uint64
	request  []byte
	fds      []int
	waits    []bool // for an answer
}

func connect(server netip.AddrPort, connections int, request string) (*load, error) {
	l := &load{request: []byte(request), waits: make([]bool, connections)}
	for range connections {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("socket of the load: %w", err)
		}
		l.fds = append(l.fds, fd)
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(server.Port()), Addr: server.Addr().As4()})
		if err == nil {
			err = unix.SetNonblock(fd, true)
		}
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		}
		if err != nil {
			l.close()
			return nil, fmt.Errorf("connect the load: %w", err)
		}
	}
	return l, nil
}

func (l *load) close() {
	for _, fd := range l.fds {
		_ = unix.Close(fd)
	}
}

// receive takes what has been answered: an answer is one segment.
func (l *load) receive(buffer []byte) {
	for i, fd := range l.fds {
		if !l.waits[i] {
			continue
		}
		if n, err := unix.Read(fd, buffer); n > 0 && err == nil {
			l.waits[i] = false
			l.answered.Add(1)
		}
	}
}

// start asks at a steady rate, or as fast as the server answers where it is 0, until the returned function is called. It polls
// the clock: how long the server sleeps between two requests changes its CPU time per request, and timers are too coarse to
// keep that the same. After a pause it does not catch up, as a burst would be another load.
func (l *load) start(rate float64) (stop func()) {
	var stopped atomic.Bool
	done := make(chan struct{})
	interval := time.Duration(0)
	if rate > 0 {
		interval = time.Duration(float64(time.Second) / rate)
	}
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		buffer := make([]byte, 4096)
		next := time.Now()
		for i := 0; !stopped.Load(); i++ {
			at := i % len(l.fds)
			if !l.waits[at] {
				_, _ = unix.Write(l.fds[at], l.request)
				l.waits[at] = true
			}
			if interval == 0 {
				if at == len(l.fds)-1 {
					l.receive(buffer)
				}
				continue
			}
			for next = next.Add(interval); time.Until(next) > 0; {
				l.receive(buffer)
			}
			if time.Until(next) < -10*time.Millisecond {
				next = time.Now()
			}
		}
	}()
	return func() { stopped.Store(true); <-done }
}

// freePort finds a port of loopback.
func freePort() (netip.AddrPort, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).AddrPort(), nil
}
