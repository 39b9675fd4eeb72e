package livetest

import (
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

// TestCallsAreTimed: a call to another server takes as long as that server reports, whether the caller itself is
// delayed or not, also on a connection that predates the collector.
func TestCallsAreTimed(t *testing.T) {
	t.Parallel()
	binary := buildWebServer(t)
	askedGroup, askedPath := cgroupFor(t, -1)
	askingGroup, askingPath := cgroupFor(t, -1)
	asked, asking := freeAddress(t, "127.0.0.1"), freeAddress(t, "127.0.0.1")
	startServer(t, inCgroup(askedGroup), binary, asked)
	caller := startServer(t, inCgroup(askingGroup), binary, asking)
	client := webClient("http", newMeasured(t))
	defer client.CloseIdleConnections()
	ask := func(sleep string) {
		fetch(t, client, "http://"+asking+"/?ask="+url.QueryEscape("http://"+asked+"/?sleep="+sleep))
	}
	ask("0") // both connections predate the collector
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	server, upstream := askedPath+asked[strings.LastIndex(asked, ":"):], askingPath+">"+asked
	waitFor(t, "the upstream is known", func() bool { ask("0"); return o.hasResource(upstream) && o.hasResource(server) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	for i := range 200 {
		if i%20 == 19 {
			ask("30ms")
		} else {
			ask("3ms")
		}
	}
	// The caller stalls for as long as its own clients see; its upstream answers in the meantime.
	stopped := make(chan struct{})
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = caller.Process.Signal(syscall.SIGSTOP)
		time.Sleep(250 * time.Millisecond)
		_ = caller.Process.Signal(syscall.SIGCONT)
		close(stopped)
	}()
	ask("60ms")
	<-stopped
	time.Sleep(settle)
	o.stop()
	if got := o.sum(upstream, catalogue.UpstreamCalls, from); got != 201 {
		t.Errorf("%v calls of 201", got)
	}
	// Eleven sleep for long; on a busy machine others can take as long, and one can be slow at only one end of the
	// connection.
	late := o.sum(upstream, catalogue.UpstreamCallsSlow, from)
	if own := o.sum(server, catalogue.ResponsesSlow, from); late < 11 || late < own || late > own+1 {
		t.Errorf("%v slow calls; the server itself had %v", late, own)
	}
	if got := o.sum(upstream, catalogue.UpstreamUnanswered, from); got != 0 {
		t.Errorf("%v calls without an answer", got)
	}
	for _, q := range []float64{0.5, 0.99, 1} {
		got, count := o.quantile(upstream, catalogue.UpstreamLatencyUS, from, q)
		want, _ := o.quantile(server, catalogue.RequestLatencyUS, from, q)
		t.Logf("quantile %v of %d: %.0f us, the server itself took %.0f us", q, count, got, want)
		if count != 201 || got < want-100 || got > 1.1*want+500 {
			t.Errorf("quantile %v of %d is %.0f us, the server itself took %.0f us", q, count, got, want)
		}
	}
	if got := o.fact(upstream, "upstream.server"); got != server {
		t.Errorf("the server behind it is %q", got)
	}
	if got := o.parents(upstream); len(got) < 2 || got[1] != askingPath {
		t.Errorf("its caller is %v", got)
	}
	if slow := countSlow(o.singleRequests(upstream, from)); float64(slow) != late {
		t.Errorf("%d of %v slow calls were sent one by one", slow, late)
	}
}

// TestCallsThatAreGivenUp: a caller that closes its connection after a while received no answer.
func TestCallsThatAreGivenUp(t *testing.T) {
	t.Parallel()
	binary := buildWebServer(t)
	askingGroup, askingPath := cgroupFor(t, -1)
	asked, asking := freeAddress(t, "127.0.0.1"), freeAddress(t, "127.0.0.1")
	startServer(t, nil, binary, asked)
	startServer(t, inCgroup(askingGroup), binary, asking)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	upstream := askingPath + ">" + asked
	client := http.Client{Timeout: 10 * time.Second}
	ask := func(query string) {
		answer, err := client.Get("http://" + asking + "/?ask=" + url.QueryEscape("http://"+asked+"/?sleep=300ms") + query)
		if err == nil {
			_ = answer.Body.Close()
		}
	}
	waitFor(t, "the upstream is known", func() bool { ask(""); return o.hasResource(upstream) })
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	for range 3 {
		ask("&patience=100ms")
	}
	time.Sleep(settle)
	o.stop()
	if calls, lost := o.sum(upstream, catalogue.UpstreamCalls, from), o.sum(upstream, catalogue.UpstreamUnanswered, from); calls != 3 || lost != 3 {
		t.Errorf("%v of %v calls without an answer, of 3", lost, calls)
	}
}
