package dnspath

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// socket is a server that reads when it is told to.
type socket struct {
	t              *testing.T
	split          *Split
	server, client *net.UDPConn
	sent           uint16
	read           uint16
}

func open(t *testing.T, address string) *socket {
	t.Helper()
	split, err := Open()
	if err != nil {
		testenv.Skip(t, "following sockets: %v", err)
	}
	server, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address)))
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.DialUDP("udp", nil, server.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _, _ = split.Close(), server.Close(), client.Close()
	})
	if err := split.SetPorts([]uint16{uint16(server.LocalAddr().(*net.UDPAddr).Port)}); err != nil {
		t.Fatal(err)
	}
	return &socket{t: t, split: split, server: server, client: client}
}

// send queues n messages with increasing ids.
func (s *socket) send(n int) {
	s.t.Helper()
	for range n {
		s.sent++
		if _, err := s.client.Write(binary.BigEndian.AppendUint16(nil, s.sent)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// take makes the server read n of them.
func (s *socket) take(n int) {
	s.t.Helper()
	buffer := make([]byte, 16)
	for range n {
		if _, err := s.server.Read(buffer); err != nil {
			s.t.Fatal(err)
		}
		if s.read++; binary.BigEndian.Uint16(buffer) != s.read {
			s.t.Fatalf("read %d instead of %d", binary.BigEndian.Uint16(buffer), s.read)
		}
	}
}

func (s *socket) drain() (reads []dnscapture.Read) {
	var clock bpf.Clock
	clock.Set()
	s.split.Drain(&clock, func(read *dnscapture.Read) { reads = append(reads, *read) })
	return reads
}

func TestEachReadIsTold(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		s := open(t, address)
		for range 5 { // the queue is empty in between, then holds up to 60
			before := time.Now()
			s.send(60)
			time.Sleep(5 * time.Millisecond)
			reading := time.Now()
			s.take(25)
			if got := s.drain(); len(got) != 25 {
				t.Fatalf("%d of 25 reads", len(got))
			}
			s.take(35)
			after := time.Now()
			got := s.drain()
			if len(got) != 35 {
				t.Fatalf("%d of 35 reads", len(got))
			}
			for i, read := range got {
				if want := s.read - 34 + uint16(i); read.ID != want {
					t.Fatalf("read of %d instead of %d", read.ID, want)
				}
				client := s.client.LocalAddr().(*net.UDPAddr)
				if read.Client.Port != uint16(client.Port) || net.IP(read.Client.Address[:]).String() != client.IP.String() {
					t.Fatalf("client %v instead of %v", read.Client, client)
				}
				if int(read.ServerPort) != s.server.LocalAddr().(*net.UDPAddr).Port {
					t.Fatalf("server port %d", read.ServerPort)
				}
				const slack = time.Millisecond // of the clocks
				if at := time.Unix(0, read.ReadNS); at.Before(reading.Add(-slack)) || at.After(after.Add(slack)) {
					t.Fatalf("read at %v, which was within [%v, %v]; sent after %v", at, reading, after, before)
				}
			}
			if again := s.drain(); len(again) != 0 {
				t.Fatalf("told again: %v", again)
			}
		}
		if lost := s.split.Lost(); lost != 0 {
			t.Errorf("%d lost", lost)
		}
	}
}

func TestWhatIsOverwrittenIsCounted(t *testing.T) {
	s := open(t, "127.0.0.1:0")
	const all = 5000
	for range all / 50 {
		s.send(50)
		s.take(50)
	}
	got, lost := len(s.drain()), s.split.Lost()
	if lost == 0 || got == 0 || got+int(lost) != all {
		t.Fatalf("%d reads, %d lost of %d", got, lost, all)
	}
	s.send(10)
	s.take(10)
	if got := s.drain(); len(got) != 10 || s.split.Lost() != lost {
		t.Fatalf("%d reads after it, %d lost", len(got), s.split.Lost()-lost)
	}
}

// TestPlacesAreGivenAgain opens more sockets, one after another, than are followed at one time.
func TestPlacesAreGivenAgain(t *testing.T) {
	s := open(t, "127.0.0.1:0")
	port := s.server.LocalAddr().(*net.UDPAddr)
	for i := range 150 {
		s.split.Tidy()
		s.send(3)
		s.take(3)
		if got := s.drain(); len(got) != 3 || got[2].ID != s.sent {
			t.Fatalf("socket %d: %v", i, got)
		}
		_ = s.server.Close()
		_ = s.client.Close()
		var err error
		if s.server, err = net.ListenUDP("udp", port); err != nil {
			t.Fatal(err)
		}
		if s.client, err = net.DialUDP("udp", nil, port); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = s.server.Close(), s.client.Close()
}
