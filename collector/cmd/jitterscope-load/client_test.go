package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// server answers after a delay and drops every drop-th query (0: none).
func server(t *testing.T, delay time.Duration, drop int) netip.AddrPort {
	t.Helper()
	connection, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	go func() {
		for i := 1; ; i++ {
			packet := make([]byte, 512)
			n, from, err := connection.ReadFromUDPAddrPort(packet)
			if err != nil {
				return
			}
			if drop > 0 && i%drop == 0 {
				continue
			}
			packet[2] |= 0x80
			time.AfterFunc(delay, func() { _, _ = connection.WriteToUDPAddrPort(packet[:n], from) })
		}
	}()
	return connection.LocalAddr().(*net.UDPAddr).AddrPort()
}

func TestLatencyIsTheServers(t *testing.T) {
	const delay, timeout = 30 * time.Millisecond, 2 * time.Second
	c, err := newClient(server(t, delay, 10), []string{"a.test", "b.test"}, false, 2, nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	p := plan{startNs: time.Now().UnixNano(), durationNs: 5e8, qps: 400}
	if err := c.run(&p, timeout); err != nil {
		t.Fatal(err)
	}
	r := c.result(p, timeout)
	s := r.summary()
	if s.Sent != 200 || s.Lost != 20 || s.Answered != 180 || s.NotSent != 0 || s.Stray != 0 {
		t.Errorf("got %+v, want 200 sent, 20 lost, 180 answered", s)
	}
	// Other processes can hold the CPU when an answer arrives, so the extra time is unbounded.
	if s.P50Us < 30_000 || int64(s.P50Us) >= timeout.Microseconds() {
		t.Errorf("median %d µs, want 30000 and a little more", s.P50Us)
	}
	for i, code := range r.code {
		if code == resultTimeout && int64(r.latencyUs[i]) != timeout.Microseconds() {
			t.Fatalf("a lost query has latency %d", r.latencyUs[i])
		}
	}
}

func TestQueriesLeaveWhileTheServerIsSilent(t *testing.T) {
	c, err := newClient(server(t, 0, 1), []string{"a.test"}, false, 1, nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	p := plan{startNs: time.Now().UnixNano(), durationNs: 4e8, qps: 500}
	if err := c.run(&p, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if s := c.result(p, 50*time.Millisecond).summary(); s.Sent != 200 || s.Lost != 200 {
		t.Errorf("got %+v, want 200 sent and lost", s)
	}
}

func TestStrayAnswersAreNotCounted(t *testing.T) {
	c, err := newClient(netip.MustParseAddrPort("127.0.0.1:9"), []string{"a.test"}, false, 1, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.sockets[0].pending[7].Store(1)
	other, err := queryPacket("b.test")
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint16(other, 7)
	other[2] |= 0x80
	for _, packet := range [][]byte{nil, {1, 2, 3}, other} {
		c.record(c.sockets[0], packet, 1)
	}
	if got := c.stray.Load(); got != 3 || c.answerNs[0] != 0 {
		t.Errorf("stray %d, answer at %d; want 3 and none", got, c.answerNs[0])
	}
}

func TestFileHoldsWhatWasMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result")
	r := result{sentUs: []int64{5, 6}, latencyUs: []int32{7, 8}, code: []uint8{0, 4}, samples: []row{{1, 2, 3, 4, 5, 6}}}
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	reader := bufio.NewReader(file)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var header fileHeader
	if err := json.Unmarshal(line, &header); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if want := header.Queries*13 + header.Samples*48; len(rest) != want {
		t.Errorf("%d bytes after %s, want %d", len(rest), line, want)
	}
}

func TestParseStat(t *testing.T) {
	v1 := parseStat([]byte("nr_periods 303\nnr_throttled 9\nthrottled_time 798951691\nnr_bursts 2\nburst_time 0\n"))
	if v1 != (row{Periods: 303, Throttled: 9, ThrottledUs: 798951, Bursts: 2}) {
		t.Errorf("v1: %+v", v1)
	}
	v2 := parseStat([]byte("usage_usec 77\nuser_usec 1\nnr_periods 4\nnr_throttled 3\nthrottled_usec 12\nnr_bursts 0\n"))
	if v2 != (row{Periods: 4, Throttled: 3, ThrottledUs: 12, UsageUs: 77}) {
		t.Errorf("v2: %+v", v2)
	}
}

func TestUniqueNamesFromSeveralAddresses(t *testing.T) {
	connection, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	names, clients := make(chan string, 100), make(chan string, 100)
	go func() {
		defer close(names)
		for {
			packet := make([]byte, 512)
			n, from, err := connection.ReadFromUDPAddrPort(packet)
			if err != nil {
				return
			}
			packet[2] |= 0x80
			names <- string(packet[headerLen+1 : headerLen+1+int(packet[headerLen])])
			clients <- from.Addr().String()
			_, _ = connection.WriteToUDPAddrPort(packet[:n], from)
		}
	}()
	from := []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")}
	c, err := newClient(connection.LocalAddr().(*net.UDPAddr).AddrPort(), []string{"a.test", "b.test"}, true, 2, from, 60)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	p := plan{startNs: time.Now().UnixNano(), durationNs: 1e8, qps: 400}
	if err := c.run(&p, time.Second); err != nil {
		t.Fatal(err)
	}
	if s := c.result(p, time.Second).summary(); s.Answered != 40 || s.Stray != 0 {
		t.Errorf("got %+v, want 40 answered", s)
	}
	_ = connection.Close()
	labels := make(map[string]bool)
	for name := range names {
		labels[name] = true
	}
	if len(labels) != 40 || !labels["u00000000"] || !labels["u00000027"] {
		t.Errorf("%d names, want 40, u00000000 to u00000027: %v", len(labels), labels)
	}
	close(clients)
	counts := make(map[string]int)
	for client := range clients {
		counts[client]++
	}
	if counts["127.0.0.2"] != 20 || counts["127.0.0.3"] != 20 {
		t.Errorf("queries by address: %v, want 20 each", counts)
	}
}

func TestAForeignClientAddressIsRefused(t *testing.T) {
	from := []netip.Addr{netip.MustParseAddr("192.0.2.77")}
	if c, err := newClient(netip.MustParseAddrPort("127.0.0.1:9"), []string{"a.test"}, false, 1, from, 1); err == nil {
		c.close()
		t.Error("accepted")
	}
}
