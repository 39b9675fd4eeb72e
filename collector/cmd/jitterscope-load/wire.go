package main

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const wireProbes = 200

// wireDelayNs measures how long a datagram takes from the clock reading before the send call to the loopback device:
// paced like real queries, so that caches and CPU sleep states match those of real queries. Queries to a loopback
// address count from that moment, because the answer's timestamp is taken there too.
func wireDelayNs(qps float64) (int64, error) {
	fd, err := openSocket(netip.MustParseAddrPort("127.0.0.1:9"), netip.Addr{})
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	own, err := unix.Getsockname(fd)
	if err == nil {
		err = unix.Connect(fd, own)
	}
	if err != nil {
		return 0, fmt.Errorf("measuring the way to the wire: %w", err)
	}
	pause := time.Duration(1e9 / min(max(qps, 500), 5000))
	delays := make([]int64, 0, wireProbes)
	payload, control := make([]byte, 64), make([]byte, 64)
	for range wireProbes {
		time.Sleep(pause)
		before := time.Now().UnixNano()
		if _, err := unix.Write(fd, payload); err != nil {
			return 0, fmt.Errorf("measuring the way to the wire: %w", err)
		}
		_, n, _, _, err := unix.Recvmsg(fd, payload, control, 0)
		if err != nil {
			return 0, fmt.Errorf("measuring the way to the wire: %w", err)
		}
		if at := timestamp(control[:n]); at > before {
			delays = append(delays, at-before)
		}
	}
	if len(delays) == 0 {
		return 0, nil
	}
	slices.Sort(delays)
	return delays[len(delays)/2], nil
}
