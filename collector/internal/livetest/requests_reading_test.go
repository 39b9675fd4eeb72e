package livetest

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

const oneByOne = `
import os, socket, sys, time
host, port = sys.argv[1].rsplit(":", 1)
s = socket.create_server((host, int(port)))
%s
print("ready", flush=True)
while True:
    c = s.accept()[0]
    %s
    time.sleep(0.005)
    c.sendall(b"answer")
    c.recv(100)
    c.close()
`

// TestHoweverRequestsAreRead: a server can peek at a request before it reads it, have the kernel move it, read it in
// parts, or learn of a connection only when it has data.
func TestHoweverRequestsAreRead(t *testing.T) {
	const looked = 30 * time.Millisecond
	for _, c := range []struct {
		name, setup, read string
		wait              time.Duration // in the socket
	}{
		{"in one go", "", "c.recv(100)", 0},
		{"in parts", "", "c.recv(2), c.recv(3), c.recv(100)", 0},
		{"looked at before", "", fmt.Sprintf("c.recv(100, socket.MSG_PEEK), time.sleep(%v), c.recv(100)", looked.Seconds()), looked},
		{"moved by the kernel", "r, w = os.pipe()", "os.splice(c.fileno(), w, 8), os.read(r, 8)", 0},
		{"accepted when there are data", "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 5)", "c.recv(100)", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t, "127.0.0.1")
			server, _ := startPython(t, fmt.Sprintf(oneByOne, c.setup, c.read), address)
			o := observe(t, requestSources)
			o.needs("tcp_requests")
			key := serverKey(t, server.Process.Pid, address)
			ask := func() (took time.Duration) {
				connection, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = connection.Close() }()
				began := time.Now()
				_, _ = io.WriteString(connection, "question")
				if answer, err := io.ReadAll(io.LimitReader(connection, 6)); err != nil || string(answer) != "answer" {
					t.Fatalf("%q, %v", answer, err)
				}
				return time.Since(began)
			}
			waitFor(t, "the server is known", func() bool { ask(); return o.hasResource(key) })
			time.Sleep(500 * time.Millisecond)
			from := nextTick()
			const times = 10
			longest := time.Duration(0)
			for range times {
				longest = max(longest, ask())
			}
			time.Sleep(settle)
			o.stop()
			requests, answers, unanswered := o.sum(key, catalogue.Requests, from), o.sum(key, catalogue.Responses, from), o.sum(key, catalogue.RequestsUnanswered, from)
			if requests != times || answers != times || unanswered != 0 {
				t.Errorf("%v requests, %v answers, %v unanswered", requests, answers, unanswered)
			}
			least := float64((c.wait + 5*time.Millisecond).Microseconds())
			shortest, _ := o.quantile(key, catalogue.RequestLatencyUS, from, 0)
			slowest, _ := o.quantile(key, catalogue.RequestLatencyUS, from, 1)
			if shortest < 0.98*least || slowest > 1.02*float64(longest.Microseconds()) {
				t.Errorf("answers within %.0f to %.0f us; the server takes %.0f us, the client waited %s at most", shortest, slowest, least, longest)
			}
			wait, read := o.quantile(key, catalogue.RequestWaitUS, from, 0)
			if read != times || wait < 0.98*float64(c.wait.Microseconds()) {
				t.Errorf("%d requests were read, the first after %.0f us", read, wait)
			}
		})
	}
}
