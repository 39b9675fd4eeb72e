package livetest

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// buildWebServer builds the HTTP test server.
func buildWebServer(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "webserver")
	if out, err := exec.Command("go", "build", "-o", binary, "./testdata/webserver").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// measured are the durations that connections have measured: from the last byte of a request written to the first byte
// of its answer.
type measured struct {
	mu        sync.Mutex
	latencies []time.Duration
}

// newMeasured keeps a socket with timestamps open: the kernel takes a moment to start stamping packets when the first
// socket requests it.
func newMeasured(t testing.TB) *measured {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := stampPackets(c.(*net.UDPConn)); err != nil {
		t.Fatal(err)
	}
	return &measured{}
}

func stampPackets(socket syscall.Conn) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	if err == nil {
		err = failed
	}
	return err
}

func (m *measured) add(latency time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latencies = append(m.latencies, latency)
}

// take returns what was measured so far, sorted, and starts over.
func (m *measured) take() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.latencies
	m.latencies = nil
	slices.Sort(taken)
	return taken
}

// timedConn measures on the wire: the kernel reports when an answer arrived (SO_TIMESTAMPNS), so it does not matter how
// late the client wakes up on a busy machine.
type timedConn struct {
	*net.TCPConn
	into  *measured
	mu    sync.Mutex
	asked time.Time // zero: no answer is pending
	// When what was last read had arrived. Only for whoever reads.
	arrived time.Time
}

func dialTimed(address string, into *measured) (*timedConn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	connection := c.(*net.TCPConn)
	return &timedConn{TCPConn: connection, into: into}, stampPackets(connection)
}

func (c *timedConn) Write(data []byte) (int, error) {
	c.mu.Lock()
	c.asked = time.Now()
	c.mu.Unlock()
	return c.TCPConn.Write(data)
}

func (c *timedConn) Read(buffer []byte) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var control [64]byte
	var controls int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, controls, _, _, failed = unix.Recvmsg(int(fd), buffer, control[:], 0)
		return failed != unix.EAGAIN
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, failed
	case n == 0:
		return 0, io.EOF
	}
	messages, err := syscall.ParseSocketControlMessage(control[:controls])
	if err != nil || len(messages) == 0 {
		return n, err
	}
	stamp := messages[0].Data
	arrived := time.Unix(int64(binary.NativeEndian.Uint64(stamp)), int64(binary.NativeEndian.Uint64(stamp[8:])))
	c.arrived = arrived
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() && arrived.After(c.asked) {
		c.into.add(arrived.Sub(c.asked))
		c.asked = time.Time{}
	}
	return n, nil
}

// webClient queries a web server over connections that measure.
func webClient(protocol string, into *measured) *http.Client {
	dial := func(_ context.Context, _, address string) (net.Conn, error) { return dialTimed(address, into) }
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 100, Protocols: new(http.Protocols)}
	switch protocol {
	case "h2c":
		transport.Protocols.SetUnencryptedHTTP2(true)
	case "h2":
		transport.Protocols.SetHTTP2(true)
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	case "close":
		transport.DisableKeepAlives = true
		transport.Protocols.SetHTTP1(true)
	default:
		transport.Protocols.SetHTTP1(true)
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	}
	return &http.Client{Transport: transport}
}

// fetch sends one request and reads the answer.
func fetch(t testing.TB, client *http.Client, url string) {
	t.Helper()
	readAnswer(t, func() (*http.Response, error) { return client.Get(url) })
}

func readAnswer(t testing.TB, ask func() (*http.Response, error)) {
	t.Helper()
	answer, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if text, err := io.ReadAll(answer.Body); err != nil || strings.Trim(string(text), "x") != "" {
		t.Fatalf("%q, %v", text, err)
	}
}
