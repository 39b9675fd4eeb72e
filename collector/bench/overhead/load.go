package main

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
)

// load is the sockets that the server is asked from.
type load struct {
	answered atomic.Uint64
	fds      []int
}

const sockets = 4

// connect opens the sockets.
func connect(server netip.AddrPort) (*load, error) {
	l := &load{}
	for range sockets {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("socket of the load: %w", err)
		}
		l.fds = append(l.fds, fd)
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(server.Port()), Addr: server.Addr().As4()}); err != nil {
			l.close()
			return nil, fmt.Errorf("connect the load: %w", err)
		}
	}
	return l, nil
}

func (l *load) close() {
	for _, fd := range l.fds {
		_ = unix.Close(fd)
	}
}

// receive takes what has been answered.
func (l *load) receive(buffer []byte) {
	for _, fd := range l.fds {
		for {
			if n, err := unix.Read(fd, buffer); n <= 0 || err != nil {
				break
			}
			l.answered.Add(1)
		}
	}
}

// start asks at a steady rate until the returned function is called. It polls the clock: how long the server sleeps between
// two queries changes its CPU time per query, and timers are too coarse to keep that the same. After a pause it does not
// catch up, as a burst would be another load.
func (l *load) start(qps float64) (stop func(), err error) {
	queries := make([][]byte, 64)
	for i := range queries {
		message := new(dns.Msg)
		message.SetQuestion(fmt.Sprintf("host%d.bench.test.", i*7%hosts), dns.TypeA)
		if queries[i], err = message.Pack(); err != nil {
			return nil, err
		}
	}
	var stopped atomic.Bool
	done := make(chan struct{})
	interval := time.Duration(float64(time.Second) / qps)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		buffer := make([]byte, 4096)
		next := time.Now()
		for i := 0; !stopped.Load(); i++ {
			query := queries[i%len(queries)]
			query[0], query[1] = byte(i>>8), byte(i)
			_, _ = unix.Write(l.fds[i%sockets], query)
			for next = next.Add(interval); time.Until(next) > 0; {
				l.receive(buffer)
			}
			if time.Until(next) < -10*time.Millisecond {
				next = time.Now()
			}
		}
	}()
	return func() { stopped.Store(true); <-done }, nil
}

// waitReady waits until the server answers.
func waitReady(l *load) error {
	for range 100 {
		if l.answered.Load() > 100 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("CoreDNS does not answer: %w", os.ErrDeadlineExceeded)
}
