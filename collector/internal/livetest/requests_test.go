package livetest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

const requestSources = "tcp_requests,cgroup_cpu"

// serverKey is the key of the TCP server of a process.
func serverKey(t testing.TB, pid int, address string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	return procwatch.CgroupOf(text) + address[strings.LastIndex(address, ":"):]
}

// settle waits until all requests of a tick have been recorded.
const settle = 1500 * time.Millisecond

// checkRequests compares what was recorded for a server from a time on with what its clients measured.
func checkRequests(t *testing.T, o *observer, key string, from time.Time, latencies []time.Duration) {
	t.Helper()
	want := float64(len(latencies))
	if got := o.sum(key, catalogue.Responses, from); got != want {
		t.Errorf("%v answers of %v", got, want)
	}
	if got := o.sum(key, catalogue.Requests, from); got != want {
		t.Errorf("%v requests of %v", got, want)
	}
	if got := o.sum(key, catalogue.RequestsUnanswered, from); got != 0 {
		t.Errorf("%v requests without an answer", got)
	}
	for _, quantile := range []struct{ q, tolerance float64 }{{0.5, 0.10}, {0.99, 0.15}} {
		got, count := o.quantile(key, catalogue.RequestLatencyUS, from, quantile.q)
		measured := float64(latencies[int(quantile.q*float64(len(latencies)-1))].Microseconds())
		t.Logf("quantile %v of %d: %.0f us, measured %.0f us", quantile.q, count, got, measured)
		if count != len(latencies) || got < (1-quantile.tolerance)*measured || got > (1+quantile.tolerance)*measured {
			t.Errorf("quantile %v of %d is %.0f us, the clients measured %.0f us (%d)", quantile.q, count, got, measured, len(latencies))
		}
	}
	points := o.series(key, catalogue.RequestsInflight)
	if len(points) == 0 || points[len(points)-1].value != 0 {
		t.Errorf("requests are in flight at the end: %v", points)
	}
}

// load sends requests from several goroutines, each with its own client.
func load(t *testing.T, workers, requests int, ask func(worker, request int)) {
	t.Helper()
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for request := range requests {
				ask(worker, request)
			}
		})
	}
	group.Wait()
}

// TestRequestsAreTimed compares with what clients measure, for each protocol.
func TestRequestsAreTimed(t *testing.T) {
	binary := buildWebServer(t)
	for _, c := range []struct{ name, host, protocol string }{
		{"keep-alive", "127.0.0.1", "http"}, {"a connection for each request", "127.0.0.1", "close"}, {"TLS", "127.0.0.1", "tls"},
		{"HTTP2 in clear", "127.0.0.1", "h2c"}, {"IPv6", "::1", "http"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t, c.host)
			scheme := "http"
			arguments := []string{address}
			if c.protocol == "tls" {
				scheme, arguments = "https", []string{"-tls", address}
			}
			server := startServer(t, nil, binary, arguments...)
			into := newMeasured(t)
			const workers = 4
			clients := make([]*http.Client, workers)
			for i := range clients {
				clients[i] = webClient(c.protocol, into)
				defer clients[i].CloseIdleConnections()
			}
			url := scheme + "://" + address + "/?sleep="
			fetch(t, clients[0], url+"0") // a connection that predates the collector
			o := observe(t, requestSources)
			o.needs("tcp_requests")
			key := serverKey(t, server.Process.Pid, address)
			waitFor(t, "the server is known", func() bool {
				load(t, workers, 1, func(worker, _ int) { fetch(t, clients[worker], url+"0") })
				return o.hasResource(key)
			})
			time.Sleep(500 * time.Millisecond)
			from := nextTick()
			into.take()
			load(t, workers, 200, func(worker, request int) {
				sleep := 3 * time.Millisecond
				if request%50 == 49 {
					sleep = 30 * time.Millisecond
				}
				fetch(t, clients[worker], url+sleep.String())
			})
			latencies := into.take()
			time.Sleep(settle)
			o.stop()
			checkRequests(t, o, key, from, latencies)
			if slow := o.sum(key, catalogue.ResponsesSlow, from); slow < 16 || slow > float64(countSlow(latencies)) {
				t.Errorf("%v slow answers, the clients saw %d", slow, countSlow(latencies))
			}
			if got := o.fact(key, "tcp.program"); got != "webserver" {
				t.Errorf("program %q", got)
			}
			if got := o.fact(key, "tcp.addresses"); got != fmt.Sprintf("[%q]", address) {
				t.Errorf("addresses %s", got)
			}
			if got := o.fact(key, "tcp.process"); !strings.HasPrefix(got, fmt.Sprint(server.Process.Pid, ":")) {
				t.Errorf("process %s of %d", got, server.Process.Pid)
			}
		})
	}
}

// TestStoppedServerLetsRequestsWait: data that a stopped server cannot read waits in the socket.
func TestStoppedServerLetsRequestsWait(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	server := startServer(t, nil, buildWebServer(t), address)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	into := newMeasured(t)
	client := webClient("http", into)
	defer client.CloseIdleConnections()
	waitFor(t, "the server is known", func() bool { fetch(t, client, "http://"+address); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	for range 10 {
		fetch(t, client, "http://"+address)
		time.Sleep(20 * time.Millisecond)
	}
	done := make(chan struct{})
	at := stopped(t, server, 300*time.Millisecond, func() {
		go func() { defer close(done); fetch(t, client, "http://"+address) }()
	})
	<-done
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		fetch(t, client, "http://"+address)
	}
	time.Sleep(4 * time.Second)
	o.stop()

	latencies := into.take()
	wait, _ := o.quantile(key, catalogue.RequestWaitUS, at, 1)
	longest := float64(latencies[len(latencies)-1].Microseconds())
	if wait < 150_000 || wait > 1.05*longest || wait < 0.9*longest {
		t.Errorf("the longest wait in the socket is %.0f us, the longest request %.0f us", wait, longest)
	}
	triggers, complete, rows, slow := 0, false, 0, 0
	o.each(func(b *ingestpb.Batch) {
		for _, trigger := range b.Triggers {
			if trigger.Reason == "slow_request" && b.Resources[trigger.Resource].Key == key && trigger.AtUs >= from.UnixMicro() {
				triggers++
			}
		}
		for _, q := range b.Queries {
			if b.Resources[q.Server].Key != key {
				continue
			}
			complete = complete || q.Complete
			for i := range q.OffsetUs {
				if q.StartUs+int64(q.OffsetUs[i]) < from.UnixMicro() {
					continue
				}
				rows++
				if q.LatencyUs[i] > 20_000 {
					slow++
				}
				if q.Clients[q.Client[i]] != "127.0.0.1" || q.Result[i] != 0 || len(q.QueueWaitUs) != len(q.OffsetUs) {
					t.Errorf("row %d of %v", i, q)
				}
			}
		}
	})
	if triggers != 1 || !complete || rows != 21 || slow < 1 {
		t.Errorf("%d triggers, %d of 21 requests, %d slow, complete %v", triggers, rows, slow, complete)
	}
}

// TestRequestsWithoutAnAnswer: a client that gave up received no answer; one that leaves, or never sends a request,
// waits for nothing.
func TestRequestsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, "127.0.0.1")
	server := startServer(t, nil, buildWebServer(t), address)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	key := serverKey(t, server.Process.Pid, address)
	into := newMeasured(t)
	client := webClient("http", into)
	defer client.CloseIdleConnections()
	waitFor(t, "the server is known", func() bool { fetch(t, client, "http://"+address); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	talk := func(text string, wait time.Duration) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte(text))
		time.Sleep(wait)
		_ = c.Close()
	}
	talk("GET /?sleep=1h HTTP/1.1\r\nHost: x\r\n\r\n", 300*time.Millisecond) // gives up
	talk("", 100*time.Millisecond)                                           // never sends a request
	talk("no", 0)                                                            // leaves
	time.Sleep(settle)
	o.stop()
	requests, answers := o.sum(key, catalogue.Requests, from), o.sum(key, catalogue.Responses, from)
	unanswered := o.sum(key, catalogue.RequestsUnanswered, from)
	if requests != 2 || answers > 1 || unanswered != 1 {
		t.Errorf("%v requests, %v answers, %v unanswered", requests, answers, unanswered)
	}
	points := o.series(key, catalogue.RequestsInflight)
	most := 0.0
	for _, p := range points {
		most = max(most, p.value)
	}
	if most != 1 || points[len(points)-1].value != 0 {
		t.Errorf("at most %v in flight, %v at the end", most, points[len(points)-1].value)
	}
}
