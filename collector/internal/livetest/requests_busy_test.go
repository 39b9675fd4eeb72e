package livetest

import (
	"bufio"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

// talk writes the parts of requests, with a pause in between, again and again until a time, and returns how many answers
// came.
func talk(t *testing.T, address string, until time.Time, pause func(), parts []string, answers int, read func(*bufio.Reader) error) (came int) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = c.Close() }()
	from := bufio.NewReader(c)
	for time.Now().Before(until) {
		for i, part := range parts {
			if i > 0 {
				pause()
			}
			_, _ = io.WriteString(c, part)
		}
		for range answers {
			if err := read(from); err != nil {
				t.Error(err)
				return came
			}
			came++
		}
	}
	return came
}

func readResponse(from *bufio.Reader) error {
	answer, err := http.ReadResponse(from, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
	}
	return err
}

// TestABusyServerIsTimedInPart: of a server with thousands of requests a second, each request is counted, each slow one
// reported, and a part of the others timed, which counts for all of them.
func TestABusyServerIsTimedInPart(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	server := startServer(t, nil, buildWebServer(t), address)
	const workers, every = 20, 50
	into := newMeasured(t)
	clients := make([]*http.Client, workers)
	for i := range clients {
		clients[i] = webClient("http", into)
		defer clients[i].CloseIdleConnections()
	}
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	url := "http://" + address + "/"
	waitFor(t, "the server is known", func() bool { fetch(t, clients[0], url); return o.hasResource(key) })
	var slow atomic.Int64
	run := func(duration time.Duration) {
		var group sync.WaitGroup
		slow.Store(0)
		until := time.Now().Add(duration)
		for _, client := range clients {
			group.Go(func() {
				for n := 1; time.Now().Before(until); n++ {
					if n%every == 0 {
						fetch(t, client, url+"?sleep=30ms")
						slow.Add(1)
					} else {
						fetch(t, client, url+"?sleep=3ms")
					}
				}
			})
		}
		group.Wait()
	}
	run(2500 * time.Millisecond) // until it is known to be busy
	from := nextTick()
	time.Sleep(10 * time.Millisecond)
	into.take()
	const seconds = 4
	uploads := 0
	var group sync.WaitGroup
	group.Go(func() { // a request whose parts are 25 ms apart is not slow
		parts := []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "12345"}
		uploads = talk(t, address, time.Now().Add(seconds*time.Second), func() { time.Sleep(25 * time.Millisecond) }, parts, 1, readResponse)
	})
	run(seconds * time.Second)
	group.Wait()
	latencies := into.take()
	oneIn, _ := strconv.Atoi(o.fact(key, "tcp.timed_one_in"))
	time.Sleep(settle)
	o.stop()
	rate := float64(len(latencies)) / seconds
	t.Logf("%.0f requests/s, one in %d timed, %d uploads", rate, oneIn, uploads)
	if rate > 2500 && oneIn < 2 {
		t.Error("all are timed")
	}
	sent := float64(len(latencies) + uploads)
	for name, metric := range map[string]uint32{"requests": catalogue.Requests, "answers": catalogue.Responses} {
		if got := o.sum(key, metric, from); got != sent {
			t.Errorf("%v %s, sent %v", got, name, sent)
		}
	}
	// If the server stands still, an upload may be read as late as one that came at once; all of them would be too many.
	atMost := countSlow(latencies) + uploads/10
	if got := o.sum(key, catalogue.ResponsesSlow, from); got < float64(slow.Load()) || got > float64(atMost) {
		t.Errorf("%v slow answers, %d were to be, the clients saw %d", got, slow.Load(), countSlow(latencies))
	}
	for _, quantile := range []struct{ q, tolerance float64 }{{0.5, 0.10}, {0.99, 0.15}} {
		got, count := o.quantile(key, catalogue.RequestLatencyUS, from, quantile.q)
		measured := float64(latencies[int(quantile.q*float64(len(latencies)-1))].Microseconds())
		t.Logf("quantile %v of %d: %.0f us, measured %.0f us", quantile.q, count, got, measured)
		if math.Abs(got-measured) > quantile.tolerance*measured || math.Abs(float64(count)-sent) > 0.02*sent {
			t.Errorf("quantile %v of %d is %.0f us, the clients measured %.0f us of %v", quantile.q, count, got, measured, sent)
		}
	}
}

const echoes = `
import socket, sys, threading, time
host, port = sys.argv[1].rsplit(":", 1)
s = socket.create_server((host, int(port)))
print("ready", flush=True)
def answer(c):
    while True:
        question = c.recv(4)
        if not question:
            return
        if question == b"slow":
            print(flush=True)
            time.sleep(0.008)
        c.sendall(b"answer")
while True:
    threading.Thread(target=answer, args=s.accept()[:1], daemon=True).start()
`

// TestPipelinedRequestsOfABusyServer: a request that comes while the one before is worked on is one of its own.
func TestPipelinedRequestsOfABusyServer(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	server, itself := startPython(t, echoes, address)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	read := func(from *bufio.Reader) error {
		_, err := io.CopyN(io.Discard, from, int64(len("answer")))
		return err
	}
	one := []string{"fast"}
	waitFor(t, "the server is known", func() bool {
		talk(t, address, time.Now().Add(time.Millisecond), nil, one, 1, read)
		return o.hasResource(key)
	})
	isRead := func() { // two that wait to be read are taken for one
		if _, err := itself.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
	run := func(duration time.Duration) (answers int) {
		var group sync.WaitGroup
		var total atomic.Int64
		until := time.Now().Add(duration)
		for range 4 {
			group.Go(func() { total.Add(int64(talk(t, address, until, nil, one, 1, read))) })
		}
		group.Go(func() {
			total.Add(int64(talk(t, address, until, isRead, []string{"slow", "fast"}, 2, read)))
		})
		group.Wait()
		return int(total.Load())
	}
	run(2500 * time.Millisecond)
	from := nextTick()
	time.Sleep(10 * time.Millisecond)
	sent := float64(run(2 * time.Second))
	t.Logf("%.0f requests/s, one in %s timed", sent/2, o.fact(key, "tcp.timed_one_in"))
	time.Sleep(settle)
	o.stop()
	requests, answers, unanswered := o.sum(key, catalogue.Requests, from), o.sum(key, catalogue.Responses, from), o.sum(key, catalogue.RequestsUnanswered, from)
	if requests != sent || answers != sent || unanswered != 0 {
		t.Errorf("%v requests, %v answers, %v unanswered; sent %v", requests, answers, unanswered, sent)
	}
}
