package livetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// workers answer 8 at a time. A line on stdin says how a thread keeps all of them from it, for 0.4 s.
const workersScript = `
import socket, sys, threading, time
host, port = sys.argv[1].rsplit(":", 1)
s = socket.create_server((host, int(port)), backlog=64)
lock, nap = threading.Lock(), 0
def work():
    while True:
        c = s.accept()[0]
        while c.recv(100):
            with lock:
                pass
            time.sleep(nap)
            c.sendall(b"answer")
        c.close()
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    if line == "lock\n":
        with lock:
            time.sleep(0.4)
    else:
        nap = 0.4
        time.sleep(0.4)
        nap = 0
`

// waits are the looks at a server that are told in its events.
type waits struct {
	looks, read int
	times       map[string]int // by state and system call
	usual       map[string]int
}

// waiting adds up the events of a server in a time.
func (o *observer) waiting(key string, from, to time.Time) waits {
	found := waits{times: map[string]int{}, usual: map[string]int{}}
	o.each(func(b *ingestpb.Batch) {
		for _, event := range b.Events {
			if event.Kind != catalogue.EventServerWaiting || b.Resources[event.Resource].Key != key ||
				event.StartUs < from.UnixMicro() || event.StartUs > to.UnixMicro() {
				continue
			}
			looks, _ := strconv.Atoi(event.Attributes["looks"])
			read, _ := strconv.Atoi(event.Attributes["read"])
			found.looks, found.read = found.looks+looks, found.read+read
			addWaits(o.t, found.times, event.Attributes["waits"])
			addWaits(o.t, found.usual, event.Attributes["usual"])
		}
	})
	return found
}

func addWaits(t testing.TB, times map[string]int, text string) {
	t.Helper()
	if text == "" {
		return
	}
	var rows [][5]any
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		times[fmt.Sprintf("%s %s", row[0], row[1])] += int(row[3].(float64))
	}
}

// TestWhatThreadsOfASilentServerWaitIn stops a server, takes its lock, and lets its threads sleep.
func TestWhatThreadsOfASilentServerWaitIn(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	server, stdin := startPython(t, workersScript, address)
	o := observe(t, requestSources+",flight_recorder")
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	var clients []net.Conn
	for range 8 {
		client, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		clients = append(clients, client)
	}
	ask := func() {
		var group sync.WaitGroup
		for _, client := range clients {
			group.Go(func() {
				_, _ = io.WriteString(client, "question")
				if _, err := io.ReadFull(client, make([]byte, 6)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	waitFor(t, "the server is known", func() bool { ask(); return o.hasResource(key) })
	for range 80 { // how its threads wait when it owes nothing is read meanwhile: of one server per second
		ask()
		time.Sleep(100 * time.Millisecond)
	}
	const held = 400 * time.Millisecond
	quietFrom, quietTo := time.Now().Add(-2*time.Second), time.Now()
	stop := stopped(t, server, held, func() { go ask() })
	time.Sleep(held)
	hold := func(how string) time.Time {
		at := time.Now()
		_, _ = io.WriteString(stdin, how+"\n")
		time.Sleep(50 * time.Millisecond)
		ask()
		time.Sleep(held)
		return at
	}
	lock, sleep := hold("lock"), hold("sleep")
	end := time.Now()
	time.Sleep(settle)
	o.stop()

	if quiet := o.waiting(key, quietFrom, quietTo); quiet.looks > 2 { // a busy machine makes it slow
		t.Errorf("a server that answers was looked at: %+v", quiet)
	}
	for _, c := range []struct {
		name     string
		from, to time.Time
		way      string
		threads  int // of each look
	}{
		{"stopped", stop, lock, "T", 8}, {"lock", lock, sleep, "S futex", 7}, {"sleep", sleep, end, "S clock_nanosleep", 7},
	} {
		seen := o.waiting(key, c.from, c.to)
		t.Logf("%s: %+v", c.name, seen)
		matching := 0
		for way, times := range seen.times {
			if way == c.way || way[:1] == c.way {
				matching += times
			}
		}
		if seen.looks < 4 || matching < c.threads*seen.looks || seen.read > 9*seen.looks {
			t.Errorf("%s: %d of %d threads in %d looks: %+v", c.name, matching, seen.read, seen.looks, seen.times)
		}
		if seen.usual["S recvfrom"] < 8 {
			t.Errorf("%s: when idle: %v", c.name, seen.usual)
		}
	}
}

// TestWhatAStoppedDNSServerWaitsIn: its packets are read every 100 ms, so a silence is noticed later.
func TestWhatAStoppedDNSServerWaitsIn(t *testing.T) {
	t.Parallel()
	server := freeAddress(t, "127.0.0.1")
	process := startServer(t, nil, buildDNSServer(t), server)
	o := observe(t, dnsSources+",flight_recorder")
	o.needs("dns_capture")
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
	ask(t, "udp", server, "before.example.")
	from := time.Now()
	stopped(t, process, 400*time.Millisecond, func() { flood(t, server, 50) })
	time.Sleep(settle)
	o.stop()
	seen := o.waiting(server, from, time.Now())
	matching := 0
	for way, times := range seen.times {
		if way[:1] == "T" {
			matching += times
		}
	}
	// On a busy machine it still owes answers for a moment after it runs again.
	if seen.looks < 2 || 2*matching < seen.read {
		t.Errorf("%+v", seen)
	}
}
