// Package dnsservers finds out where the DNS servers among the watched processes listen, and which software they are.
package dnsservers

import (
	"net/netip"
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

const (
	Port    = 53 // needs no further sign of being DNS
	TLSPort = 853
)

// Listener is one DNS server process and its sockets.
type Listener struct {
	Process *procwatch.Process
	UDP     []netsock.Socket // unconnected, on ports that serve clients
	Ports   []uint16         // of UDP
	local   netsock.Addresses
}

// Scan looks up the sockets of the DNS servers among processes. It needs permission to ptrace them.
func (s *Scanner) Scan(processes []*procwatch.Process) ([]Listener, error) {
	var listeners []Listener
	var failed error
	tables := make(map[uint64]*namespace)
	for _, process := range processes {
		if process.DNS == "" {
			continue
		}
		held, err := netsock.Inodes(s.proc, process.PID)
		if err != nil {
			failed = err
			continue
		}
		ns := tables[process.NetworkNS]
		if ns == nil {
			if ns, err = s.readNamespace(process); err != nil {
				failed = err
				continue
			}
			tables[process.NetworkNS] = ns
		}
		if listener := ns.listener(process, held); len(listener.Ports) > 0 {
			listeners = append(listeners, listener)
		}
	}
	s.forget(tables)
	return listeners, failed
}

// listener picks the sockets of a process. Many servers also send queries from unconnected sockets on random ports: a
// port serves clients if it is 53 or the process accepts TCP on it too, as a DNS server must (RFC 7766).
func (ns *namespace) listener(process *procwatch.Process, held map[uint64]struct{}) Listener {
	tcp := make(map[uint16]bool)
	for _, s := range ns.tcp {
		if _, ours := held[s.inode]; ours {
			tcp[s.local.Port] = true
		}
	}
	l := Listener{Process: process, local: ns.local}
	for _, s := range ns.udp {
		if _, ours := held[s.Inode]; ours && (s.Local.Port == Port || tcp[s.Local.Port]) {
			l.UDP = append(l.UDP, s)
			if !slices.Contains(l.Ports, s.Local.Port) {
				l.Ports = append(l.Ports, s.Local.Port)
			}
		}
	}
	return l
}

// Serves reports whether the process answers on this address of its network namespace.
func (l *Listener) Serves(endpoint dnswire.Endpoint) bool { return len(l.Sockets(endpoint)) > 0 }

// Sockets returns the sockets that receive packets to an address: those bound to it, else those bound to any.
func (l *Listener) Sockets(endpoint dnswire.Endpoint) []netsock.Socket {
	var exact, wildcard []netsock.Socket
	for _, s := range l.UDP {
		switch {
		case s.Local.Port != endpoint.Port:
		case s.Local.Address == endpoint.Address:
			exact = append(exact, s)
		case s.Local.Address.IsWildcard() && l.local.Has(endpoint.Address):
			wildcard = append(wildcard, s)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return wildcard
}

// LoopbackOnly reports whether the process is reachable only from its own network namespace.
func (l *Listener) LoopbackOnly() bool {
	for _, s := range l.UDP {
		if !netip.AddrFrom16(s.Local.Address).Unmap().IsLoopback() {
			return false
		}
	}
	return true
}
