package procwatch

import (
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/sockdiag"
)

const socketsFresh = time.Second // what a young process opens is to be seen at once

// sockets tracks, in each network namespace, the sockets bound to UDP port 53, to recognize DNS servers of any name,
// and the listening TCP sockets.
type sockets struct {
	proc        string
	own         uint64 // the collector's network namespace
	byNamespace map[uint64]*serving
}

func newSockets(proc string) sockets {
	own, _ := netns.ID(proc, "self")
	return sockets{proc: proc, own: own, byNamespace: make(map[uint64]*serving)}
}

// serving are the sockets of servers in a namespace, by inode.
type serving struct {
	at            time.Time
	port53, onTCP map[uint64]struct{}
	grown         uint64 // how often a socket appeared that had not existed before
}

// held is which of them a process holds.
type held struct {
	port53, onTCP bool
	namespace     uint64
	grown         uint64 // that of the namespace at the last check
	known         bool
}

// of returns what a process holds. before is the previous result: without new sockets it has not changed, except if
// another process passed it one.
func (s *sockets) of(pid int, namespace uint64, before held) held {
	if namespace == 0 {
		return held{}
	}
	there := s.servingIn(pid, namespace)
	now := held{namespace: namespace, grown: there.grown, known: true}
	if before.known && before.namespace == namespace && before.grown == there.grown {
		return before
	}
	if len(there.port53)+len(there.onTCP) == 0 {
		return now
	}
	inodes, err := netsock.Inodes(s.proc, pid)
	if err != nil {
		return held{}
	}
	for inode := range inodes {
		if _, ok := there.port53[inode]; ok {
			now.port53 = true
		}
		if _, ok := there.onTCP[inode]; ok {
			now.onTCP = true
		}
	}
	return now
}

func (s *sockets) servingIn(pid int, namespace uint64) *serving {
	known := s.byNamespace[namespace]
	if known != nil && time.Since(known.at) <= socketsFresh {
		return known
	}
	if len(s.byNamespace) > 4096 {
		clear(s.byNamespace)
		known = nil
	}
	fresh := &serving{at: time.Now(), port53: make(map[uint64]struct{}), onTCP: make(map[uint64]struct{})}
	// A namespace without IPv6 has no udp6.
	for _, table := range []string{"udp", "udp6"} {
		_ = netsock.List(s.proc, pid, table, func(socket *netsock.Socket) {
			if socket.Local.Port == 53 && socket.Unconnected() {
				fresh.port53[socket.Inode] = struct{}{}
			}
		})
	}
	s.listening(pid, namespace, fresh.onTCP)
	if known != nil {
		if fresh.grown = known.grown; !within(fresh.port53, known.port53) || !within(fresh.onTCP, known.onTCP) {
			fresh.grown++
		}
	} else {
		fresh.grown = uint64(fresh.at.UnixNano()) // different from any value counted before the table was cleared
	}
	s.byNamespace[namespace] = fresh
	return fresh
}

// listening adds the inodes of the listening sockets. It uses sock_diag: to read the table tcp6, the kernel walks all
// connections of the machine, which takes milliseconds. The socket is not kept, because it would keep the namespace
// alive.
func (s *sockets) listening(pid int, namespace uint64, inodes map[uint64]struct{}) {
	if socket, err := sockdiag.OpenIn(s.proc, pid, namespace, s.own); err == nil {
		defer func() { _ = socket.Close() }()
		if socket.Dump(sockdiag.Listening(), func(tcp *sockdiag.TCP) { inodes[uint64(tcp.Inode)] = struct{}{} }) == nil {
			return
		}
	}
	for _, table := range []string{"tcp", "tcp6"} { // without IPv6 there is no tcp6
		_ = netsock.Listening(s.proc, pid, table, func(socket *netsock.Socket) { inodes[socket.Inode] = struct{}{} })
	}
}

// within reports whether all of some are among others.
func within(some, others map[uint64]struct{}) bool {
	for inode := range some {
		if _, ok := others[inode]; !ok {
			return false
		}
	}
	return true
}
