package dnscapture

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// taken is a packet as a test stores it.
type taken struct {
	Packet
	data []byte
}

// TestTapSeesWhatThePacketRingSees sends the same traffic through both ways of taking packets.
func TestTapSeesWhatThePacketRingSees(t *testing.T) {
	tcp, udp, udp6 := listenOnOnePort(t)
	port := uint16(udp.LocalAddr().(*net.UDPAddr).Port)
	other := listenUDP(t, "127.0.0.1:0")
	tapped := openWith(t, port, func(fd int) (packetRing, error) { return newTap(fd, SmallRing) })
	mapped := openWith(t, port, func(fd int) (packetRing, error) { return newMappedRing(fd, SmallRing) })

	began := time.Now()
	for _, length := range []int{12, 76, 77, 104, 275, 276, 277, 4000} {
		send(t, udp.LocalAddr(), length)
		send(t, udp6.LocalAddr(), length)
		send(t, other.LocalAddr(), length)
	}
	exchangeTCP(t, tcp)
	ended := time.Now()

	want, got := drain(mapped, time.Now()), drain(tapped, time.Now())
	if len(want) < 2*8+4 || len(got) != len(want) {
		t.Fatalf("the program took %d packets, the ring %d", len(got), len(want))
	}
	for i, p := range got {
		w := want[i]
		if p.EtherType != w.EtherType || p.Interface != w.Interface || !bytes.Equal(p.data, w.data) {
			t.Errorf("packet %d: %+v, the ring has %+v", i, p, w)
		}
		if off := time.Duration(p.TimeNS - w.TimeNS).Abs(); off > 20*time.Millisecond {
			t.Errorf("packet %d: %v from the ring's time", i, off)
		}
		if at := time.Unix(0, p.TimeNS); at.Before(began.Add(-time.Millisecond)) || at.After(ended.Add(time.Millisecond)) {
			t.Errorf("packet %d at %v, sent in [%v, %v]", i, at, began, ended)
		}
	}
	if packets, drops := tapped.Statistics(); packets != uint64(len(got)) || drops != 0 {
		t.Errorf("%d packets, %d drops counted", packets, drops)
	}
}

// TestTapTakesHeadersOfAnswers: for IPv4 packets from a server that are answers only the first 40 bytes are taken, in
// order among the queries.
func TestTapTakesHeadersOfAnswers(t *testing.T) {
	server := listenUDP(t, "127.0.0.1:0")
	client := listenUDP(t, "127.0.0.1:0")
	tapped := openWith(t, uint16(server.LocalAddr().(*net.UDPAddr).Port), func(fd int) (packetRing, error) {
		return newTap(fd, SmallRing)
	})
	for id := range byte(100) {
		query := append([]byte{0, id, 1, 0}, make([]byte, 46)...)
		if _, err := client.WriteTo(query, server.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		answer := append([]byte{0, id, 0x81, 3}, make([]byte, 46+4*int(id))...)
		if _, err := server.WriteTo(answer, client.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
	packets := drain(tapped, time.Now())
	if len(packets) != 200 {
		t.Fatalf("%d packets instead of 200", len(packets))
	}
	for i, p := range packets {
		length, flags := 28+50, byte(1)
		if i%2 == 1 {
			length, flags = 40, 0x81
		}
		if len(p.data) != length || p.data[29] != byte(i/2) || p.data[30] != flags {
			t.Fatalf("packet %d: %x", i, p.data)
		}
	}
}

func TestTapHoldsBackWhatIsLater(t *testing.T) {
	udp := listenUDP(t, "127.0.0.1:0")
	tapped := openWith(t, uint16(udp.LocalAddr().(*net.UDPAddr).Port), func(fd int) (packetRing, error) {
		return newTap(fd, SmallRing)
	})
	send(t, udp.LocalAddr(), 20)
	time.Sleep(20 * time.Millisecond)
	between := time.Now()
	time.Sleep(20 * time.Millisecond)
	send(t, udp.LocalAddr(), 30)
	for _, step := range []struct {
		cutoff time.Time
		length int
	}{{between, 20}, {time.Now(), 30}} {
		packets := drain(tapped, step.cutoff)
		if len(packets) != 1 || len(packets[0].data) != 28+step.length {
			t.Fatalf("%+v before the cutoff, want one of %d bytes", packets, 28+step.length)
		}
	}
}

func TestTapCountsWhatHasNoRoom(t *testing.T) {
	udp := listenUDP(t, "127.0.0.1:0")
	tapped := openWith(t, uint16(udp.LocalAddr().(*net.UDPAddr).Port), func(fd int) (packetRing, error) {
		return newTap(fd, SmallRing)
	})
	const sent = 1000 // 328 bytes each in a ring of 128 KiB
	for range sent {
		send(t, udp.LocalAddr(), 400)
	}
	kept := len(drain(tapped, time.Now()))
	if packets, drops := tapped.Statistics(); packets != sent || drops == 0 || int(drops)+kept != sent {
		t.Fatalf("%d packets, %d dropped, %d kept of %d", packets, drops, kept, sent)
	}
	send(t, udp.LocalAddr(), 40)
	if again := drain(tapped, time.Now()); len(again) != 1 {
		t.Fatalf("%d packets after the ring was emptied", len(again))
	}
}

func openWith(t *testing.T, port uint16, newRing func(fd int) (packetRing, error)) *Socket {
	t.Helper()
	socket, err := open([]uint16{53, port}, newRing)
	if err != nil {
		testenv.Skip(t, "taking packets: %v", err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return socket
}

func drain(socket *Socket, cutoff time.Time) (packets []taken) {
	var packet Packet
	for socket.Next(cutoff.UnixNano(), &packet) {
		packets = append(packets, taken{packet, bytes.Clone(packet.Data)})
		socket.Done()
	}
	return packets
}

// listenOnOnePort finds a port that is free in all three ways: another program may have taken one of them.
func listenOnOnePort(t *testing.T) (tcp net.Listener, udp, udp6 net.PacketConn) {
	t.Helper()
	var err error
	for range 20 {
		var errs [3]error
		tcp, errs[0] = net.Listen("tcp", "127.0.0.1:0")
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		port := tcp.Addr().(*net.TCPAddr).Port
		udp, errs[1] = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		udp6, errs[2] = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv6loopback, Port: port})
		if err = errors.Join(errs[:]...); err == nil {
			t.Cleanup(func() { _, _, _ = tcp.Close(), udp.Close(), udp6.Close() })
			return tcp, udp, udp6
		}
		for i, socket := range []io.Closer{tcp, udp, udp6} {
			if errs[i] == nil {
				_ = socket.Close()
			}
		}
	}
	t.Fatal(err)
	return nil, nil, nil
}

func listenUDP(t *testing.T, address string) net.PacketConn {
	t.Helper()
	connection, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func send(t *testing.T, to net.Addr, length int) {
	t.Helper()
	connection, err := net.Dial("udp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if _, err := connection.Write(make([]byte, length)); err != nil {
		t.Fatal(err)
	}
}

// exchangeTCP opens a connection, sends data, and closes it.
func exchangeTCP(t *testing.T, listener net.Listener) {
	t.Helper()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{20, 500} {
		if _, err := connection.Write(make([]byte, length)); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Read(make([]byte, length)); err != nil {
			t.Fatal(err)
		}
	}
	_ = connection.Close()
	_ = server.Close()
	time.Sleep(20 * time.Millisecond)
}
