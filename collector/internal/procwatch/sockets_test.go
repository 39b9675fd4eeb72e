package procwatch

import (
	"net"
	"os"
	"testing"
)

// TestListeningSocketsOfBothFamiliesAreFound: listening ones, but no connections.
func TestListeningSocketsOfBothFamiliesAreFound(t *testing.T) {
	s := newSockets("/proc")
	namespace := NetworkNS("/proc", os.Getpid())
	holds := func(before held) bool {
		clear(s.byNamespace) // a read is valid for a second
		return s.of(os.Getpid(), namespace, before).onTCP
	}
	before := s.of(os.Getpid(), namespace, held{})
	if before.onTCP {
		t.Fatal("this process listens already")
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		client, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if !holds(before) {
			t.Errorf("%s is not found", address)
		}
		_ = listener.Close()
		if holds(before) {
			t.Errorf("a connection to %s is taken for a server", address)
		}
		_ = client.Close()
	}
}
