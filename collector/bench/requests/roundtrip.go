package main

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/bench/alternating"
)

const (
	rounds   = 12 // with and without in turn
	batches  = 40 // of a round
	trips    = 200
	warm     = 500 // round trips before a round
	quietest = 10  // percentile of the batches: what else the machine does only adds to one
	// What a server does for a request evicts what the kernel needed for the last one: more than a CPU's own caches hold.
	evicting = 2 << 20
)

// roundTrip is one connection of which this thread has both ends: all that a request and its answer cost in the kernel is its CPU time,
// and nothing sleeps.
type roundTrip struct {
	client, server  int
	request, answer []byte
	stream          uint32 // of HTTP/2: the number of the next one; 0: another protocol
	buffer          []byte
	evicts          []byte // written before each exchange; none: the caches stay warm
}

// exchange is what a client and a server say to each other.
type exchange struct{ name, request, answer string }

const http2 = "HTTP/2"

func openRoundTrip(address netip.AddrPort, kind exchange) (*roundTrip, error) {
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(listener) }()
	at := &unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}
	if err = errors.Join(unix.SetsockoptInt(listener, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(listener, at), unix.Listen(listener, 1)); err != nil {
		return nil, err
	}
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err = unix.Connect(client, at); err != nil {
		return nil, errors.Join(err, unix.Close(client))
	}
	server, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
	if err != nil {
		return nil, errors.Join(err, unix.Close(client))
	}
	for _, fd := range []int{client, server} {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	}
	r := &roundTrip{client: client, server: server, request: []byte(kind.request), answer: []byte(kind.answer), buffer: make([]byte, 4096)}
	if kind.name == http2 && err == nil {
		r.stream = 1
		_, sent := unix.Write(client, []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
		_, read := unix.Read(server, r.buffer)
		err = errors.Join(sent, read)
	}
	return r, err
}

func (r *roundTrip) close() {
	_ = unix.Close(r.client)
	_ = unix.Close(r.server)
}

// cost is CPU time: of both ends, and of the server's alone. It has to read the request and send its answer, which over loopback
// includes what the client's end does with the packet.
type cost struct{ both, server time.Duration }

// times exchanges so often, and returns what it took, without evicting caches.
func (r *roundTrip) times(times int) (took cost, err error) {
	for range times {
		r.number()
		for at := 0; at < len(r.evicts); at += 64 {
			r.evicts[at]++
		}
		before := alternating.ThreadTime()
		_, sent := unix.Write(r.client, r.request)
		came := alternating.ThreadTime()
		_, read := unix.Read(r.server, r.buffer)
		_, answered := unix.Write(r.server, r.answer)
		left := alternating.ThreadTime()
		_, got := unix.Read(r.client, r.buffer)
		if sent != nil || read != nil || answered != nil || got != nil {
			return took, errors.Join(sent, read, answered, got)
		}
		took.both += alternating.ThreadTime() - before
		took.server += left - came
	}
	return took, nil
}

// number gives the frames of a request and its answer the number of a new stream.
func (r *roundTrip) number() {
	if r.stream == 0 {
		return
	}
	binary.BigEndian.PutUint32(r.request[5:], r.stream)
	binary.BigEndian.PutUint32(r.answer[5:], r.stream)
	r.stream += 2
}

// measureRoundTrip returns the cost of a round trip unobserved and observed.
func measureRoundTrip(kind exchange, evicts []byte) (off, on cost, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	address, err := freePort()
	if err != nil {
		return off, on, err
	}
	costs := map[bool][]cost{}
	for round := range rounds {
		observed := round%2 == 1
		if err := measureRound(address, kind, evicts, observed, costs); err != nil {
			return off, on, err
		}
	}
	at := func(observed bool, part func(cost) time.Duration) time.Duration {
		slices.SortFunc(costs[observed], func(a, b cost) int { return cmp.Compare(part(a), part(b)) })
		return part(costs[observed][len(costs[observed])*quietest/100]) / trips
	}
	both, server := func(c cost) time.Duration { return c.both }, func(c cost) time.Duration { return c.server }
	return cost{at(false, both), at(false, server)}, cost{at(true, both), at(true, server)}, nil
}

func measureRound(address netip.AddrPort, kind exchange, evicts []byte, observed bool, costs map[bool][]cost) error {
	read, warmedUp := func() {}, time.Now()
	if observed {
		o, err := observe(address)
		if err != nil {
			return err
		}
		defer func() { _ = o.programs.Close() }()
		if o.programs.Blind() {
			return errors.New("the kernel lets the programs read no packets")
		}
		warmedUp = warmedUp.Add(choosing)
		read = func() { o.tracker.Sample(time.Now().UnixMicro(), 0, &discard{}) } // a full ring would cost less
	}
	r, err := openRoundTrip(address, kind) // now, so that both its ends are known
	if err != nil {
		return err
	}
	defer r.close()
	r.evicts = evicts
	for ok := true; ok; ok = time.Now().Before(warmedUp) {
		if _, err := r.times(warm); err != nil {
			return err
		}
		read()
	}
	for range batches {
		read()
		took, err := r.times(trips)
		if err != nil {
			return err
		}
		costs[observed] = append(costs[observed], took)
	}
	return nil
}

func printRoundTrips() error {
	http := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	headers := func(flags byte, block string) string {
		return string([]byte{0, 0, byte(len(block)), 1, flags, 0, 0, 0, 0}) + block
	}
	for _, kind := range []exchange{
		{"HTTP", "GET /users/17 HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n", http},
		{http2, headers(5, "\x82\x86\x04\x06/users\x10\x01a\x05bench"), headers(5, "\x88\x0f\x10\x01t\x0f\x0d\x011")},
		{"Redis", "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n", "$5\r\nvalue\r\n"},
		{"TLS", "\x17\x03\x03\x00\x60" + string(make([]byte, 96)), "\x17\x03\x03\x01\x00" + string(make([]byte, 256))},
	} {
		for _, caches := range []struct {
			name   string
			evicts []byte
		}{{"warm", nil}, {"cold", make([]byte, evicting)}} {
			off, on, err := measureRoundTrip(kind, caches.evicts)
			if err != nil {
				return err
			}
			if _, err := fmt.Printf("%s round trip, %s caches: %d ns, timed %d ns: %+d ns, of which the server pays %+d ns\n", kind.name, caches.name,
				off.both, on.both, on.both-off.both, on.server-off.server); err != nil {
				return err
			}
		}
	}
	return nil
}
