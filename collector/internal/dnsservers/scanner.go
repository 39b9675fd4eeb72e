package dnsservers

import (
	"errors"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sockdiag"
)

// Scanner looks for listeners repeatedly. Listening TCP sockets are read from the kernel by sock_diag, because the
// table in /proc has all connections of the machine. It is used by one goroutine at a time.
type Scanner struct {
	proc string
	own  uint64                      // the collector's network namespace
	diag map[uint64]*sockdiag.Socket // by namespace; nil: not possible there
}

// NewScanner makes a Scanner for the processes below proc.
func NewScanner(proc string) *Scanner {
	own, _ := netns.ID(proc, "self")
	return &Scanner{proc: proc, own: own, diag: make(map[uint64]*sockdiag.Socket)}
}

// Close closes all held sockets.
func (s *Scanner) Close() { s.forget(nil) }

// forget closes the sockets of namespaces that are no longer in use.
func (s *Scanner) forget(used map[uint64]*namespace) {
	for inode, diag := range s.diag {
		if used[inode] == nil {
			delete(s.diag, inode)
			if diag != nil {
				_ = diag.Close()
			}
		}
	}
}

// namespace is the sockets of a network namespace.
type namespace struct {
	udp   []netsock.Socket
	tcp   []listeningTCP
	local netsock.Addresses
}

type listeningTCP struct {
	local dnswire.Endpoint
	inode uint64
}

func (s *Scanner) readNamespace(of *procwatch.Process) (*namespace, error) {
	ns := &namespace{}
	var err error
	if ns.local, err = netsock.Local(s.proc, of.PID); err != nil {
		return nil, err
	}
	for _, table := range []string{"udp", "udp6"} {
		_ = netsock.List(s.proc, of.PID, table, func(socket *netsock.Socket) { // no IPv6, no udp6
			if socket.Unconnected() {
				ns.udp = append(ns.udp, *socket)
			}
		})
	}
	if ns.tcp, err = s.askTCP(of); err != nil {
		ns.tcp = s.listTCP(of)
	}
	return ns, nil
}

var errNoDiag = errors.New("no sock_diag in this namespace")

// askTCP finds the listening sockets by sock_diag.
func (s *Scanner) askTCP(of *procwatch.Process) (found []listeningTCP, err error) {
	diag, known := s.diag[of.NetworkNS]
	if !known {
		diag, _ = sockdiag.OpenIn(s.proc, of.PID, of.NetworkNS, s.own)
		s.diag[of.NetworkNS] = diag
	}
	if diag == nil {
		return nil, errNoDiag
	}
	err = diag.Dump(sockdiag.Listening(), func(row *sockdiag.TCP) {
		found = append(found, listeningTCP{row.Local, uint64(row.Inode)})
	})
	return found, err
}

// listTCP finds them in /proc.
func (s *Scanner) listTCP(of *procwatch.Process) (found []listeningTCP) {
	for _, table := range []string{"tcp", "tcp6"} {
		_ = netsock.List(s.proc, of.PID, table, func(socket *netsock.Socket) { // no IPv6, no tcp6
			if socket.State == netsock.TCPListen {
				found = append(found, listeningTCP{socket.Local, socket.Inode})
			}
		})
	}
	return found
}
