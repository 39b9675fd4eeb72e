package livetest

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// streamClient asks over many streams of one HTTP/2 connection and times each on the wire.
type streamClient struct {
	t       *testing.T
	conn    *timedConn
	mu      sync.Mutex // of everything below
	pieces  int        // 0: what is written is not cut
	header  bytes.Buffer
	encoder *hpack.Encoder
	framer  *http2.Framer
	next    uint32
	asked   map[uint32]time.Time
	waiting map[uint32]chan struct{}
	took    []time.Duration
}

func newStreamClient(t *testing.T, address string) *streamClient {
	t.Helper()
	conn, err := dialTimed(address, newMeasured(t))
	if err != nil {
		t.Fatal(err)
	}
	c := &streamClient{t: t, conn: conn, next: 1, asked: make(map[uint32]time.Time), waiting: make(map[uint32]chan struct{})}
	t.Cleanup(func() { _ = conn.Close() })
	c.encoder = hpack.NewEncoder(&c.header)
	c.framer = http2.NewFramer(c, conn)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if err := c.framer.WriteWindowUpdate(0, 1<<30); err != nil {
		t.Fatal(err)
	}
	go c.receive()
	return c
}

// Write sends what the framer has written, in pieces that are segments of their own.
func (c *streamClient) Write(data []byte) (int, error) {
	size := c.pieces
	if size == 0 {
		size = len(data)
	}
	for piece := range slices.Chunk(data, size) {
		if _, err := c.conn.Write(piece); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}

// receive notes when the answer to each stream began.
func (c *streamClient) receive() {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		c.mu.Lock()
		id := frame.Header().StreamID
		if asked, ok := c.asked[id]; ok && frame.Header().Type == http2.FrameHeaders {
			c.took = append(c.took, c.conn.arrived.Sub(asked))
			delete(c.asked, id)
		}
		if done, ok := c.waiting[id]; ok && frame.Header().Flags.Has(http2.FlagDataEndStream) {
			close(done)
			delete(c.waiting, id)
		}
		c.mu.Unlock()
	}
}

// ask sends a request without waiting for the answer, which closes the channel.
func (c *streamClient) ask(path string) (id uint32, done chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header.Reset()
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "test"}, {":path", path}} {
		if err := c.encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			c.t.Error(err)
		}
	}
	id, done = c.next, make(chan struct{})
	c.next += 2
	c.waiting[id], c.asked[id] = done, time.Now()
	if err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.header.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
		c.t.Error(err)
	}
	if c.pieces > 0 {
		c.asked[id] = time.Now()
	}
	return id, done
}

// taken returns what was measured since the last call, sorted.
func (c *streamClient) taken() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	took := c.took
	c.took = nil
	slices.Sort(took)
	return took
}

// together sends requests at once and waits for all answers.
func (c *streamClient) together(paths ...string) {
	var answers []chan struct{}
	for _, path := range paths {
		_, done := c.ask(path)
		answers = append(answers, done)
	}
	for _, done := range answers {
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			c.t.Error("no answer")
			return
		}
	}
}

// streamServer starts a web server and a collector that knows it.
func streamServer(t *testing.T) (o *observer, server *exec.Cmd, key, address string) {
	t.Helper()
	address = freeAddress(t, "127.0.0.1")
	server = startServer(t, nil, buildWebServer(t), address)
	o = observe(t, requestSources)
	o.needs("tcp_requests")
	key = serverKey(t, server.Process.Pid, address)
	client := newStreamClient(t, address)
	waitFor(t, "the server is known", func() bool { client.together("/"); return o.hasResource(key) })
	time.Sleep(500 * time.Millisecond)
	return o, server, key, address
}

// singleRequests are the times of the requests that were recorded singly, sorted.
func (o *observer) singleRequests(key string, from time.Time) (took []time.Duration) {
	o.each(func(b *ingestpb.Batch) {
		for _, q := range b.Queries {
			for i, offset := range q.OffsetUs {
				if b.Resources[q.Server].Key == key && q.StartUs+int64(offset) >= from.UnixMicro() {
					took = append(took, time.Duration(q.LatencyUs[i])*time.Microsecond)
				}
			}
		}
	})
	slices.Sort(took)
	return took
}

// TestConcurrentStreamsAreTimedSingly: 20 requests at a time on one connection, whose answers take different times and
// overtake each other.
func TestConcurrentStreamsAreTimedSingly(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces int
	}{{"in one segment each", 0}, {"in segments of 5 bytes", 5}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, _, key, address := streamServer(t)
			client := newStreamClient(t, address)
			client.pieces = c.pieces
			client.together("/")
			client.taken()
			time.Sleep(100 * time.Millisecond)
			from := nextTick()
			const streams, rounds = 20, 5
			var paths []string
			for i := range streams {
				paths = append(paths, fmt.Sprintf("/?sleep=%dms&bytes=%d", 200-5*i, 100+i*200))
			}
			for range rounds {
				client.together(paths...)
			}
			measured := client.taken()
			time.Sleep(2 * settle)
			o.stop()
			checkRequests(t, o, key, from, measured)
			single := o.singleRequests(key, from)
			if len(single) != len(measured) || len(single) != streams*rounds {
				t.Fatalf("%d requests were recorded singly, %d measured", len(single), len(measured))
			}
			for i, took := range single {
				if off := math.Abs(took.Seconds() - measured[i].Seconds()); off > 0.1*measured[i].Seconds() {
					t.Errorf("%s was recorded, %s measured", took, measured[i])
				}
			}
		})
	}
}

// TestStreamsThatNobodyAnswers: the client cancels one stream and leaves while others wait. Of more than fit into the
// places of a connection, some are only counted.
func TestStreamsThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	o, _, key, address := streamServer(t)
	client := newStreamClient(t, address)
	client.together("/")
	time.Sleep(100 * time.Millisecond)
	from := nextTick()
	cancelled, _ := client.ask("/?sleep=1h")
	client.ask("/?sleep=1h")
	client.ask("/?sleep=1h")
	time.Sleep(100 * time.Millisecond)
	client.mu.Lock()
	if err := client.framer.WriteRSTStream(cancelled, http2.ErrCodeCancel); err != nil {
		t.Error(err)
	}
	client.mu.Unlock()
	var paths []string
	for range 140 {
		paths = append(paths, "/?sleep=20ms")
	}
	client.together(paths...)
	_ = client.conn.Close()
	time.Sleep(2 * settle)
	o.stop()
	requests, answers := o.sum(key, catalogue.Requests, from), o.sum(key, catalogue.Responses, from)
	unanswered := o.sum(key, catalogue.RequestsUnanswered, from)
	if requests != 143 || unanswered != 3 || answers > 140 || answers < 125 {
		t.Errorf("%v requests, %v answers, %v unanswered", requests, answers, unanswered)
	}
	points := o.series(key, catalogue.RequestsInflight)
	if len(points) == 0 || points[len(points)-1].value != 0 {
		t.Errorf("requests are in flight at the end: %v", points)
	}
}

// TestWhatIsNoFrameEndsTheConnectionAlone: what a client sends is not trusted.
func TestWhatIsNoFrameEndsTheConnectionAlone(t *testing.T) {
	t.Parallel()
	o, _, key, address := streamServer(t)
	from := nextTick()
	broken := newStreamClient(t, address)
	broken.together("/")
	broken.ask("/?sleep=1h")
	if _, err := io.WriteString(broken.conn, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff this is no frame"); err != nil {
		t.Error(err)
	}
	time.Sleep(200 * time.Millisecond)
	client := newStreamClient(t, address)
	client.together("/?sleep=5ms", "/?sleep=10ms")
	time.Sleep(settle)
	o.stop()
	requests, answers := o.sum(key, catalogue.Requests, from), o.sum(key, catalogue.Responses, from)
	if requests < 4 || requests > 5 || answers < 3 || answers > 4 {
		t.Errorf("%v requests, %v answers", requests, answers)
	}
	points := o.series(key, catalogue.RequestsInflight)
	if len(points) == 0 || points[len(points)-1].value != 0 {
		t.Errorf("requests are in flight at the end: %v", points)
	}
}

// TestAStoppedServerLetsStreamsWait: what waits in the socket is known for each of them.
func TestAStoppedServerLetsStreamsWait(t *testing.T) {
	t.Parallel()
	o, server, key, address := streamServer(t)
	client := newStreamClient(t, address)
	client.together("/")
	client.taken()
	time.Sleep(100 * time.Millisecond)
	from := nextTick()
	answers := make(chan chan struct{}, 10)
	stopped(t, server, 300*time.Millisecond, func() {
		for range cap(answers) {
			_, done := client.ask("/")
			answers <- done
		}
	})
	for range cap(answers) {
		<-<-answers
	}
	measured := client.taken()
	time.Sleep(settle)
	o.stop()
	shortest, count := o.quantile(key, catalogue.RequestWaitUS, from, 0)
	longest, _ := o.quantile(key, catalogue.RequestWaitUS, from, 1)
	if count != 10 || shortest < 100_000 || longest > 1.05*float64(measured[9].Microseconds()) || longest < 0.9*float64(measured[0].Microseconds()) {
		t.Errorf("%d requests waited %.0f to %.0f us in the socket; answers took %s to %s", count, shortest, longest, measured[0], measured[9])
	}
}

// TestKindsAndStatusesOfStreams: method, route and status of each request, however the headers are compressed, and of a
// connection that is old only that there are requests.
func TestKindsAndStatusesOfStreams(t *testing.T) {
	t.Parallel()
	o, _, key, address := streamServer(t)
	from := nextTick()
	for _, pieces := range []int{0, 7} {
		client := newStreamClient(t, address)
		client.pieces = pieces
		for i := range 20 {
			client.together("/", fmt.Sprintf("/users/%d?status=503", 100+i), "/orders?status=404", "/"+strings.Repeat("deep/", 20), "/broken?status=503")
		}
		_ = client.conn.Close()
	}
	time.Sleep(settle)
	o.stop()
	for metric, want := range map[uint32]float64{
		catalogue.Responses: 200, catalogue.HttpResponses: 200, catalogue.HttpClientErrors: 40, catalogue.HttpServerErrors: 80,
	} {
		if got := o.sum(key, metric, from); got != want {
			t.Errorf("%s is %v, want %v", catalogue.All[metric].Name, got, want)
		}
	}
	kinds := o.kinds(t, key)
	for kind, want := range map[string]int{"GET /users/{id}": 40, "GET /orders": 40, "GET /deep/deep/deep/deep/deep/*": 40, "GET /broken": 40} {
		if kinds[kind] != want {
			t.Errorf("%d requests of %s, want %d: %v", kinds[kind], kind, want, kinds)
		}
	}
}
