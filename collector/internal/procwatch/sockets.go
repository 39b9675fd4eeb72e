package procwatch

import (
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/netsock"
)

const socketsFresh = time.Second // what a young process opens is to be seen at once

// sockets knows, in each network namespace, the sockets bound to UDP port 53, to recognize DNS servers of any name, and those
// that listen on TCP.
type sockets struct {
	proc        string
	byNamespace map[uint64]*serving
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
	// A namespace without IPv6 has no udp6 and no tcp6.
	for _, table := range []string{"udp", "udp6"} {
		_ = netsock.List(s.proc, pid, table, func(socket *netsock.Socket) {
			if socket.Local.Port == 53 && socket.Unconnected() {
				fresh.port53[socket.Inode] = struct{}{}
			}
		})
	}
	for _, table := range []string{"tcp", "tcp6"} {
		_ = netsock.Listening(s.proc, pid, table, func(socket *netsock.Socket) { fresh.onTCP[socket.Inode] = struct{}{} })
	}
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

// within tells whether all of some are among others.
func within(some, others map[uint64]struct{}) bool {
	for inode := range some {
		if _, ok := others[inode]; !ok {
			return false
		}
	}
	return true
}
