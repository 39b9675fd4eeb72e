package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// serveHTTP answers with the handler and counts the connections that clients open.
func serveHTTP(t *testing.T, handler http.HandlerFunc) (netip.AddrPort, func() int) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan struct{}, 10_000)
	server := &http.Server{Handler: handler, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened <- struct{}{}
		}
	}}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().(*net.TCPAddr).AddrPort(), func() int { return len(opened) }
}

// patience outlasts a machine that stands still for seconds: a timeout that a test is not about.
const patience = time.Minute

func send(t *testing.T, server netip.AddrPort, paths []string, qps float64, timeout time.Duration) (*result, *httpClient) {
	t.Helper()
	return sendOn(t, server, paths, httpOptions{reuse: true}, qps, timeout)
}

func sendOn(t *testing.T, server netip.AddrPort, paths []string, o httpOptions, qps float64, timeout time.Duration) (*result, *httpClient) {
	t.Helper()
	h, err := newHTTPClient(server, paths, nil, o, 1000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	p := plan{startNs: time.Now().UnixNano(), durationNs: 5e8, qps: qps}
	if err := h.run(&p, timeout); err != nil {
		t.Fatal(err)
	}
	return h.result(p, timeout), h
}

func body(w http.ResponseWriter, size int) {
	w.Header().Set("Content-Length", fmt.Sprint(size))
	_, _ = w.Write(make([]byte, size))
}

func TestHTTPLatencyIsToTheFirstByte(t *testing.T) {
	const delay = 30 * time.Millisecond
	rest := make(chan struct{})
	server, _ := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(delay)
		if r.URL.Path == "/endless" {
			w.Header().Set("Content-Length", "100000")
			w.(http.Flusher).Flush()
			<-rest // the head is sent, the body is not
			return
		}
		body(w, 100_000)
	})
	r, h := send(t, server, []string{"/a", "/b"}, 200, patience)
	if s := r.summary(); s.Sent != 100 || s.Answered != 100 || s.NotSent != 0 || s.P50Us < 30_000 {
		t.Errorf("got %+v, want 100 answered after 30 ms", s)
	}
	for i, code := range r.code {
		if code != resultNoError {
			t.Fatalf("request %d has result %d", i, code)
		}
	}
	if h.opened < 2 {
		t.Errorf("%d connections: requests waited behind another", h.opened)
	}
	// The first byte of a response that never ends is not the whole response; its connection is closed.
	r, h = send(t, server, []string{"/endless"}, 20, 100*time.Millisecond)
	close(rest)
	if s := r.summary(); s.Sent != 10 || s.Lost != 10 {
		t.Errorf("got %+v, want 10 lost", s)
	}
	if first := h.connections[0]; !first.closed {
		t.Error("the connection of a lost request is still open")
	}
}

func TestHTTPLatencyToTheLastByte(t *testing.T) {
	const rest = 300 * time.Millisecond
	server, _ := serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		_, _ = w.Write([]byte{'o'})
		w.(http.Flusher).Flush()
		time.Sleep(rest)
		_, _ = w.Write([]byte{'k'})
	})
	for _, whole := range []bool{false, true} {
		r, _ := sendOn(t, server, []string{"/"}, httpOptions{reuse: true, whole: whole}, 200, patience)
		// The fastest: on a busy machine, the first byte of most can come later than that.
		if fastest := time.Duration(slices.Min(r.latencyUs)) * time.Microsecond; (fastest >= rest) != whole {
			t.Errorf("whole %v: the fastest took %v", whole, fastest)
		}
	}
}

func TestIdleConnectionsAreUsedAgain(t *testing.T) {
	server, opened := serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) { body(w, 10) })
	r, h := send(t, server, []string{"/"}, 400, patience)
	if s := r.summary(); s.Answered != 200 {
		t.Errorf("got %+v, want 200 answered", s)
	}
	if opened() != h.opened || h.opened >= 200 {
		t.Errorf("%d connections opened, %d arrived; want as many, and fewer than requests", h.opened, opened())
	}
}

func TestConnectionsOfTheirOwn(t *testing.T) {
	server, opened := serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) { body(w, 10) })
	r, h := sendOn(t, server, []string{"/"}, httpOptions{}, 400, patience)
	if s := r.summary(); s.Answered != 200 || opened() != 200 || h.opened != 200 {
		t.Errorf("got %+v, and %d of %d connections arrived; want 200", s, opened(), h.opened)
	}
	// How many were open at once depends on how long this process waited for a CPU. Now none is.
	places := len(h.connections)
	if _, err := h.open(); err != nil {
		t.Fatal(err)
	}
	if len(h.connections) > places {
		t.Errorf("the places of %d closed connections are not used again", places)
	}
}

func TestConnectionsThatAreReady(t *testing.T) {
	server, opened := serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) { body(w, 10) })
	h, err := newHTTPClient(server, []string{"/"}, nil, httpOptions{reuse: true, ready: 30}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	p := plan{startNs: time.Now().UnixNano() + 2e8, durationNs: 2e8, qps: 100}
	if err := h.run(&p, time.Second); err != nil {
		t.Fatal(err)
	}
	if opened() != 30 || h.opened != 30 {
		t.Errorf("%d connections opened, %d arrived; want 30", h.opened, opened())
	}
}

func TestRequestsThatFail(t *testing.T) {
	server, _ := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/error":
			http.Error(w, "no", http.StatusServiceUnavailable)
		case "/closed":
			panic(http.ErrAbortHandler)
		case "/last":
			w.Header().Set("Connection", "close")
			body(w, 10)
		}
	})
	for path, want := range map[string]uint8{"/error": resultServFail, "/closed": resultOther, "/last": resultNoError} {
		r, _ := send(t, server, []string{path}, 20, patience)
		for i, code := range r.code {
			if code != want {
				t.Errorf("%s: request %d has result %d, want %d", path, i, code, want)
			}
		}
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().(*net.TCPAddr).AddrPort()
	_ = listener.Close()
	r, _ := send(t, nobody, []string{"/"}, 20, patience)
	for i, code := range r.code {
		if code != resultRefused {
			t.Errorf("request %d has result %d, want refused", i, code)
		}
	}
}

func TestAnswerInPieces(t *testing.T) {
	const text = "HTTP/1.1 200 OK\r\nServer: x\r\ncontent-LENGTH: 5\r\n\r\nhello"
	for size := 1; size <= len(text); size++ {
		var a answer
		for at := 0; at < len(text); at += size {
			if a.whole() || a.broken {
				t.Fatalf("pieces of %d: over after %d bytes: %+v", size, at, a)
			}
			a.take([]byte(text[at:min(at+size, len(text))]), int64(at)+1)
		}
		if !a.whole() || a.broken || a.firstNs != 1 || a.code != resultNoError {
			t.Errorf("pieces of %d: %+v", size, a)
		}
	}
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\n\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		var a answer
		if a.take([]byte(text), 1); !a.broken {
			t.Errorf("%q is taken: %+v", text, a)
		}
	}
}
