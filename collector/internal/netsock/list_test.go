package netsock

import (
	"net"
	"os"
	"testing"
)

// TestListeningStopsAtConnections: the kernel lists listening sockets first, so nothing after them needs to be read.
func TestListeningStopsAtConnections(t *testing.T) {
	var ports []uint16
	for range 3 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		ports = append(ports, uint16(listener.Addr().(*net.TCPAddr).Port))
	}
	found := make(map[uint16]bool)
	if err := Listening("/proc", os.Getpid(), "tcp", func(s *Socket) {
		if s.State != TCPListen {
			t.Errorf("port %d is in state %d", s.Local.Port, s.State)
		}
		found[s.Local.Port] = true
	}); err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		if !found[port] {
			t.Errorf("port %d is not among those that listen", port)
		}
	}
}
