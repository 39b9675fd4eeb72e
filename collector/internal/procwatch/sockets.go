package procwatch

import (
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/sockdiag"
)

const socketsFresh = time.Second // what a young process opens is to be seen at once

// sockets knows, in each network namespace, the sockets bound to UDP port 53, to recognize DNS servers of any name, and those
// that listen on TCP.
type sockets struct {
	proc        string
	own         uint64 // the collector's network namespace
	byNamespace map[uint64]*serving
}

func newSockets(proc string) sockets {
	own, _ := netns.ID(proc, "self")
	return sockets{proc: proc, own: own, byNamespace: make(map[uint64]*serving)}
}

// serving is the sockets of servers in a namespace, by inode.
type serving struct {
	at            time.Time
	port53, onTCP map[uint64]struct{}
	grown         uint64 // how often one was there that had not been before
}

// held is what a process holds of them.
type held struct {
	port53, onTCP bool
	namespace     uint64
	grown         uint64 // of the namespace when it was looked at
	known         bool
}

// of tells what a process holds. before is what it held when last asked: without new sockets that has not changed, except where
// another process handed it one.
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
		fresh.grown = uint64(fresh.at.UnixNano()) // unlike any that was counted before the table was cleared
	}
	s.byNamespace[namespace] = fresh
	return fresh
}

// listening adds the inodes of the sockets that listen. It asks sock_diag: to read the table tcp6, the kernel walks all connections of
// the machine, which takes milliseconds. The socket is not kept, as it would keep the namespace.
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

// within tells whether all of some are among others.
func within(some, others map[uint64]struct{}) bool {
	for inode := range some {
		if _, ok := others[inode]; !ok {
			return false
		}
	}
	return true
}
