package main

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// accepting is a listener that takes some time for each connection, like one that looks up the client.
type accepting struct {
	net.Listener
	each time.Duration
}

func (a accepting) Accept() (net.Conn, error) {
	connection, err := a.Listener.Accept()
	if a.each > 0 && err == nil {
		// Not time.Sleep: Go's timers are late by up to a millisecond on an otherwise idle machine.
		pause := unix.NsecToTimespec(a.each.Nanoseconds())
		_ = unix.Nanosleep(&pause, nil)
	}
	return connection, err
}

// listenWith listens with the given backlog; 0 leaves it to Go, which uses net.core.somaxconn.
func listenWith(address string, backlog int) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil || backlog == 0 {
		return listener, err
	}
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Listen(int(fd), backlog) }); err != nil {
		return nil, err
	}
	return listener, failed
}
