package sockdiag

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

func open(t testing.TB) *Socket {
	t.Helper()
	s, err := Open()
	if err != nil {
		testenv.Skip(t, "%v; needs %s", err, Needs)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func endpoint(a net.Addr) dnswire.Endpoint {
	at := a.(*net.TCPAddr).AddrPort()
	return dnswire.Endpoint{Address: at.Addr().As16(), Port: at.Port()}
}

// listenQuietly listens and accepts nothing; the accept queue holds two connections (a backlog of 1 plus one).
func listenQuietly(t testing.TB, family int) (address netip.AddrPort) {
	t.Helper()
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		testenv.Skip(t, "family %d: %v", family, err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	var local unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if family == unix.AF_INET6 {
		local = &unix.SockaddrInet6{Addr: [16]byte{15: 1}}
	}
	if err := unix.Bind(fd, local); err != nil {
		testenv.Skip(t, "family %d: %v", family, err)
	}
	if err := unix.Listen(fd, 1); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	switch at := bound.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(at.Addr), uint16(at.Port))
	}
	t.Fatal("no address")
	return netip.AddrPort{}
}

// TestBacklogAndDrops fills an accept queue and attempts one more connection.
func TestBacklogAndDrops(t *testing.T) {
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		s := open(t)
		address := listenQuietly(t, family)
		query := Listening()
		look := func() (found TCP) {
			t.Helper()
			if err := s.Dump(query, func(row *TCP) {
				if row.Local.Port == address.Port() && row.Local.Address == address.Addr().As16() {
					found = *row
				}
			}); err != nil {
				t.Fatal(err)
			}
			return found
		}
		if got := look(); got.State != Listen || got.ReceiveQueue != 0 || got.SendQueue != 1 || got.Drops != 0 || got.Inode == 0 {
			t.Errorf("before: %+v", got)
		}
		dialer := net.Dialer{Timeout: 300 * time.Millisecond}
		refused := 0
		for range 4 {
			c, err := dialer.Dial("tcp", address.String())
			if err != nil {
				refused++
				continue
			}
			defer func() { _ = c.Close() }()
		}
		if got := look(); got.ReceiveQueue != 2 || got.Drops == 0 || refused == 0 {
			t.Errorf("full: %+v, %d refused", got, refused)
		}
	}
}

// TestConnectionsAreFilteredByPort finds both ends of one connection by the port of either, and no other connection.
func TestConnectionsAreFilteredByPort(t *testing.T) {
	s := open(t)
	var clients []net.Conn
	var ports []uint16
	for range 3 {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		client, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Close() }()
		clients, ports = append(clients, client), append(ports, endpoint(listener.Addr()).Port)
	}
	count := func(local, remote []uint16) (found []TCP) {
		t.Helper()
		if err := s.Dump(Connections(local, remote), func(row *TCP) {
			// Another program can serve one of the many ports.
			if slices.Contains(ports, row.Local.Port) || slices.Contains(ports, row.Remote.Port) {
				found = append(found, *row)
			}
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	many := make([]uint16, 200) // a filter with many ports, of which only the last one matters
	for i := range many {
		many[i] = uint16(i + 1)
	}
	for name, found := range map[string][]TCP{
		"accepted":      count([]uint16{ports[1]}, nil),
		"last of many":  count(append(many, ports[1]), nil),
		"first of many": count(append([]uint16{ports[1]}, many...), nil),
	} {
		if len(found) != 1 || found[0].Local != endpoint(clients[1].RemoteAddr()) || found[0].Remote != endpoint(clients[1].LocalAddr()) ||
			found[0].State != Established || found[0].Inode == 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
	if found := count(nil, []uint16{ports[2]}); len(found) != 1 || found[0].Local != endpoint(clients[2].LocalAddr()) {
		t.Errorf("by remote port: %+v", found)
	}
	if found := count([]uint16{ports[0]}, []uint16{ports[0], ports[2]}); len(found) != 3 {
		t.Errorf("both: %+v", found)
	}
	if found := count([]uint16{1}, nil); len(found) != 0 {
		t.Errorf("nobody listens there: %+v", found)
	}
	time.Sleep(300 * time.Millisecond)
	if _, err := clients[0].Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	got := count([]uint16{ports[0]}, nil)[0]
	if got.ReceivedMS > 200 || got.SentMS < 300 || got.ReceiveQueue != 1 || got.SegmentsReceived != 1 || got.SegmentsSent != 0 {
		t.Errorf("times %+v", got)
	}
	_ = clients[0].Close()
	waiting := func() TCP { return count([]uint16{ports[0]}, nil)[0] }
	for range 100 {
		if waiting().State == CloseWait {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := waiting(); got.State != CloseWait {
		t.Errorf("after closing: %+v", got)
	}
}

func TestDumpDoesNotAllocate(t *testing.T) {
	s := open(t)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	for range 50 {
		client, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
	}
	rows := 0
	visit := func(*TCP) { rows++ }
	queries := []*Query{Listening(), Connections([]uint16{endpoint(listener.Addr()).Port}, []uint16{53})}
	if allocations := testing.AllocsPerRun(100, func() {
		for _, query := range queries {
			if err := s.Dump(query, visit); err != nil {
				t.Fatal(err)
			}
		}
	}); allocations != 0 || rows < 50*100 {
		t.Errorf("%v allocations, %d rows", allocations, rows)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{20, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(append([]byte{100, 0, 0, 0, 18, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1}, make([]byte, 98)...))
	f.Fuzz(func(_ *testing.T, answer []byte) {
		s := &Socket{sequence: 1}
		_, _ = s.parse(answer, func(*TCP) {})
	})
}

// BenchmarkConnections finds one connection among ten thousand sockets, most of which have another port.
func BenchmarkConnections(b *testing.B) {
	s := open(b)
	const pairs = 5000
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	for range pairs {
		client, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		server, err := listener.Accept()
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = server.Close() }()
	}
	for name, query := range map[string]*Query{
		"listening": Listening(), "few": Connections([]uint16{1, 2, 3}, []uint16{53, 853}),
		"all": Connections([]uint16{endpoint(listener.Addr()).Port}, nil),
	} {
		b.Run(name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				if err := s.Dump(query, func(*TCP) { rows++ }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)/float64(b.N), "rows/op")
		})
	}
}
