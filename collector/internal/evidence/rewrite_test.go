package evidence

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// rewritten returns a copy of a capture of Ethernet packets with another link type, whose packets are derived from the
// old ones.
func rewritten(t *testing.T, from, name string, link uint32, change func(frame []byte) []byte) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.Clone(data[:24])
	binary.LittleEndian.PutUint32(out[20:], link)
	for at := 24; at+16 <= len(data); {
		size := int(binary.LittleEndian.Uint32(data[at+8:]))
		frame := change(data[at+16 : at+16+size])
		header := bytes.Clone(data[at : at+16])
		binary.LittleEndian.PutUint32(header[8:], uint32(len(frame)))
		binary.LittleEndian.PutUint32(header[12:], binary.LittleEndian.Uint32(header[12:])+uint32(len(frame)-size))
		out = append(append(out, header...), frame...)
		at += 16 + size
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLinkTypesAgreeWithTshark rewrites one real capture with the link headers of other systems and networks, in other
// formats: tshark and this package see the same.
func TestLinkTypesAgreeWithTshark(t *testing.T) {
	server := startServer(t, "127.0.0.1")
	plain := captured(t, "plain.pcap", func() { makeTraffic(t, server) }, "tcpdump", "-i", "lo", "-U", captureFilter(server))
	want := agree(t, plain, server.port)
	check := func(name, path string) *Report {
		t.Helper()
		r := agree(t, path, server.port)
		if r.Totals.counts != want.Totals.counts || r.TCP.tcpCounts != want.TCP.tcpCounts {
			t.Errorf("%s: %+v %+v", name, r.Totals.counts, r.TCP.tcpCounts)
		}
		return r
	}
	tagged := func(tags ...byte) func([]byte) []byte {
		return func(f []byte) []byte { return slices.Concat(f[:12], tags, f[12:]) }
	}
	for _, c := range []struct {
		name   string
		link   uint32
		change func([]byte) []byte
	}{
		{"raw IP", linkRaw, func(f []byte) []byte { return f[14:] }},
		{"BSD loopback", linkNull, func(f []byte) []byte { return slices.Concat([]byte{2, 0, 0, 0}, f[14:]) }},
		{"OpenBSD loopback", linkLoop, func(f []byte) []byte { return slices.Concat([]byte{0, 0, 0, 2}, f[14:]) }},
		{"VLAN", linkEthernet, tagged(0x81, 0, 0, 7)},
		{"VLAN in VLAN", linkEthernet, tagged(0x88, 0xa8, 0, 7, 0x81, 0, 0, 9)},
		{"VXLAN", linkEthernet, func(f []byte) []byte {
			return slices.Concat(f[:14], udp(hostPort("10.0.0.1:51000"), hostPort("10.0.0.2:4789"), slices.Concat([]byte{8, 0, 0, 0, 0, 0, 1, 0}, f)))
		}},
		{"Geneve", linkRaw, func(f []byte) []byte {
			return udp(hostPort("10.0.0.1:51000"), hostPort("10.0.0.2:6081"), slices.Concat([]byte{1, 0, 0x65, 0x58, 0, 0, 1, 0, 0, 1, 0, 0}, f))
		}},
		{"IP in IP", linkRaw, func(f []byte) []byte {
			return ipv4(hostPort("10.0.0.1:0"), hostPort("10.0.0.2:0"), protocolIPIP, f[14:])
		}},
	} {
		check(c.name, rewritten(t, plain, "file.pcap", c.link, c.change))
	}
	pcapng := filepath.Join(t.TempDir(), "file.pcapng")
	if out, err := exec.Command("editcap", "-F", "pcapng", plain, pcapng).CombinedOutput(); err != nil {
		testenv.Skip(t, "editcap: %v %s", err, out)
	}
	if r := check("pcapng", pcapng); r.File.Format != "pcapng" {
		t.Errorf("%+v", r.File)
	}
	for _, path := range []string{plain, pcapng} {
		if r := check("gzip", gzipped(t, path)); r.File.Compression == nil {
			t.Errorf("%+v", r.File)
		}
	}
	cutPackets(t, plain, want)
}

func gzipped(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), filepath.Base(path)+".gz")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// cutPackets truncates packets to their headers (tshark gives up on truncated messages): durations over UDP stay the
// same, names are lost.
func cutPackets(t *testing.T, plain string, want *Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cut.pcap")
	if out, err := exec.Command("editcap", "-F", "pcap", "-s", "58", plain, path).CombinedOutput(); err != nil {
		testenv.Skip(t, "editcap: %v %s", err, out)
	}
	// Content cannot be recognized in truncated packets, a port can.
	path = rewritten(t, path, "cut53.pcap", linkEthernet, func(f []byte) []byte {
		for _, at := range []int{34, 36} {
			if int(binary.BigEndian.Uint16(f[at:])) == int(want.Servers[0].Port) {
				binary.BigEndian.PutUint16(f[at:], 53)
			}
		}
		return f
	})
	_, all := analyzed(t, plain)
	cut, rows := analyzed(t, path)
	isUDP := func(text string) bool { return !strings.HasPrefix(text, "udp ") }
	ours := slices.DeleteFunc(answeredQueries(rows), isUDP)
	if whole := slices.DeleteFunc(answeredQueries(all), isUDP); !slices.Equal(ours, whole) || len(ours) != 33 {
		t.Errorf("%d queries over UDP in cut packets, %d in whole ones", len(ours), len(whole))
	}
	if cut.TCP.Streams != want.TCP.Streams || cut.TCP.Connections != want.TCP.Connections || cut.TCP.HalfClosed != want.TCP.HalfClosed {
		t.Errorf("%+v", cut.TCP.tcpCounts)
	}
	if !slices.ContainsFunc(cut.CannotTell, func(c cannotTell) bool { return c.About == "names" }) {
		t.Errorf("%+v", cut.CannotTell)
	}
}
