package main

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/bench/alternating"
)

const (
	rounds   = 12 // with and without in turn
	batches  = 40 // of a round
	trips    = 200
	warm     = 500 // round trips before a round
	quietest = 10  // percentile of the batches: what else the machine does only adds to one
)

// roundTrip is one connection of which this thread has both ends: all that a request and its answer cost in the kernel is its CPU time,
// and nothing sleeps.
type roundTrip struct {
	client, server  int
	request, answer []byte
	buffer          []byte
}

func openRoundTrip(address netip.AddrPort, request, answer string) (*roundTrip, error) {
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
	return &roundTrip{client, server, []byte(request), []byte(answer), make([]byte, 4096)}, err
}

func (r *roundTrip) close() {
	_ = unix.Close(r.client)
	_ = unix.Close(r.server)
}

func (r *roundTrip) times(times int) error {
	for range times {
		_, sent := unix.Write(r.client, r.request)
		_, read := unix.Read(r.server, r.buffer)
		_, answered := unix.Write(r.server, r.answer)
		_, got := unix.Read(r.client, r.buffer)
		if sent != nil || read != nil || answered != nil || got != nil {
			return errors.Join(sent, read, answered, got)
		}
	}
	return nil
}

// measureRoundTrip returns the CPU nanoseconds of a round trip unobserved and observed.
func measureRoundTrip(request, answer string) (off, on float64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	address, err := freePort()
	if err != nil {
		return 0, 0, err
	}
	costs := map[bool][]float64{}
	for round := range rounds {
		observed := round%2 == 1
		if err := measureRound(address, request, answer, observed, costs); err != nil {
			return 0, 0, err
		}
	}
	at := func(observed bool) float64 {
		slices.Sort(costs[observed])
		return costs[observed][len(costs[observed])*quietest/100]
	}
	return at(false), at(true), nil
}

func measureRound(address netip.AddrPort, request, answer string, observed bool, costs map[bool][]float64) error {
	if observed {
		o, err := observe(address)
		if err != nil {
			return err
		}
		defer func() { _ = o.programs.Close() }()
		if o.programs.Blind() {
			return errors.New("the kernel lets the programs read no packets")
		}
	}
	r, err := openRoundTrip(address, request, answer) // now, so that both its ends are known
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.times(warm); err != nil {
		return err
	}
	for range batches {
		before := alternating.ThreadTime()
		if err := r.times(trips); err != nil {
			return err
		}
		costs[observed] = append(costs[observed], float64((alternating.ThreadTime()-before).Nanoseconds())/trips)
	}
	return nil
}

func printRoundTrips() error {
	http := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, kind := range []struct{ name, request, answer string }{
		{"HTTP", "GET /users/17 HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n", http},
		{"Redis", "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n", "$5\r\nvalue\r\n"},
		{"TLS", "\x17\x03\x03\x00\x60" + string(make([]byte, 96)), "\x17\x03\x03\x01\x00" + string(make([]byte, 256))},
	} {
		off, on, err := measureRoundTrip(kind.request, kind.answer)
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("%s round trip: %.0f ns, timed %.0f ns: %+.0f ns\n", kind.name, off, on, on-off); err != nil {
			return err
		}
	}
	return nil
}
