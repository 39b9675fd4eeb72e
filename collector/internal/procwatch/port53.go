package procwatch

import (
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/netsock"
)

const port53Fresh = time.Second // what a young process opens is to be seen at once

// port53 knows the sockets bound to UDP port 53 in each network namespace, to recognize DNS servers of any name.
type port53 struct {
	proc        string
	byNamespace map[uint64]bound
}

type bound struct {
	inodes map[uint64]struct{}
	at     time.Time
}

// ownedBy tells whether the process holds one of them.
func (p *port53) ownedBy(pid int, namespace uint64) bool {
	if namespace == 0 {
		return false
	}
	known, ok := p.byNamespace[namespace]
	if !ok || time.Since(known.at) > port53Fresh {
		known = bound{inodes: make(map[uint64]struct{}), at: time.Now()}
		for _, table := range []string{"udp", "udp6"} {
			// A namespace without IPv6 has no udp6.
			_ = netsock.List(p.proc, pid, table, func(s *netsock.Socket) {
				if s.Local.Port == 53 && s.Unconnected() {
					known.inodes[s.Inode] = struct{}{}
				}
			})
		}
		if len(p.byNamespace) > 4096 {
			clear(p.byNamespace)
		}
		p.byNamespace[namespace] = known
	}
	if len(known.inodes) == 0 {
		return false
	}
	held, err := netsock.Inodes(p.proc, pid)
	if err != nil {
		return false
	}
	for inode := range known.inodes {
		if _, ok := held[inode]; ok {
			return true
		}
	}
	return false
}
