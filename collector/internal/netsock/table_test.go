package netsock

import (
	"net"
	"os"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// Rows of /proc/net on Linux 6.18.
const (
	udpRow  = "  614: 0100007F:2743 00000000:0000 07 00000000:00000B00 00:00000000 00000000     0        0 25166 2 00000000a8fd4b65 17          "
	udp6Row = "  614: 00000000000000000000000001000000:2743 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 25167 2 00000000dd 0"
	tcpRow  = "   0: 0100007F:EB2D 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 2261 1 000000004be9ca9e 100 0 0 10 0                      "
)

func TestParse(t *testing.T) {
	var s Socket
	if !Parse([]byte(udpRow), &s) || s.Local.Port != 10051 || s.Local.Address != (dnswire.Address{10: 0xff, 11: 0xff, 12: 127, 15: 1}) ||
		!s.Unconnected() || s.ReceiveQueue != 0xb00 || s.Inode != 25166 || s.Drops != 17 {
		t.Errorf("udp: %+v", s)
	}
	if !Parse([]byte(udp6Row), &s) || s.Local.Address != (dnswire.Address{15: 1}) || s.Inode != 25167 {
		t.Errorf("udp6: %+v", s)
	}
	if !Parse([]byte(tcpRow), &s) || s.State != TCPListen || s.ReceiveQueue != 3 || s.Inode != 2261 {
		t.Errorf("tcp: %+v", s)
	}
	heading := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops"
	if Parse([]byte(heading), &s) {
		t.Error("the heading was taken for a socket")
	}
	for n := range 90 {
		if Parse([]byte(udpRow[:n]), &s) {
			t.Errorf("a row cut to %d bytes was accepted", n)
		}
	}
}

func TestListFindsOwnSocket(t *testing.T) {
	for network, table := range map[string]string{"udp4": "udp", "udp6": "udp6"} {
		address := "127.0.0.1:0"
		if network == "udp6" {
			address = "[::1]:0"
		}
		connection, err := net.ListenPacket(network, address)
		if err != nil {
			testenv.Skip(t, "%s sockets: %v", network, err)
		}
		defer func() { _ = connection.Close() }()
		port := connection.LocalAddr().(*net.UDPAddr).Port
		inodes, err := Inodes("/proc", os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		if err := List("/proc", os.Getpid(), table, func(s *Socket) {
			if _, ours := inodes[s.Inode]; ours && int(s.Local.Port) == port && s.Unconnected() {
				found++
			}
		}); err != nil || found != 1 {
			t.Errorf("%s: found %d, %v", network, found, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(udpRow))
	f.Add([]byte(udp6Row))
	f.Fuzz(func(_ *testing.T, row []byte) {
		var s Socket
		Parse(row, &s)
	})
}
