package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// load sends queries at a steady rate from a few sockets until it is stopped.
type load struct {
	answered atomic.Uint64
	stopped  atomic.Bool
	done     chan struct{}
}

const sockets = 4

func startLoad(server *net.UDPAddr, qps float64) (*load, error) {
	l := &load{done: make(chan struct{})}
	connections := make([]*net.UDPConn, sockets)
	for i := range connections {
		connection, err := net.DialUDP("udp4", nil, server)
		if err != nil {
			return nil, err
		}
		connections[i] = connection
		go l.receive(connection)
	}
	queries := make([][]byte, 64)
	for i := range queries {
		message := new(dns.Msg)
		message.SetQuestion(fmt.Sprintf("host%d.bench.test.", i*7%hosts), dns.TypeA)
		wire, err := message.Pack()
		if err != nil {
			return nil, err
		}
		queries[i] = wire
	}
	go l.send(connections, queries, qps)
	return l, nil
}

// send paces by the clock: after a pause it does not catch up, as a burst would be another load.
func (l *load) send(connections []*net.UDPConn, queries [][]byte, qps float64) {
	defer close(l.done)
	interval := time.Duration(float64(time.Second) / qps)
	next := time.Now()
	for i := 0; !l.stopped.Load(); i++ {
		query := queries[i%len(queries)]
		query[0], query[1] = byte(i>>8), byte(i)
		_, _ = connections[i%sockets].Write(query)
		next = next.Add(interval)
		if wait := time.Until(next); wait > 200*time.Microsecond {
			time.Sleep(wait)
		} else if wait < -10*time.Millisecond {
			next = time.Now()
		}
	}
	for _, connection := range connections {
		_ = connection.Close()
	}
}

func (l *load) receive(connection *net.UDPConn) {
	buffer := make([]byte, 4096)
	for {
		_, err := connection.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			l.answered.Add(1)
		}
	}
}

func (l *load) stop() {
	l.stopped.Store(true)
	<-l.done
}

// waitReady sends until the server answers.
func waitReady(l *load) error {
	for range 100 {
		if l.answered.Load() > 100 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("CoreDNS does not answer: %w", os.ErrDeadlineExceeded)
}
