package procwatch

import "github.com/jitterscope/jitterscope/collector/internal/netsock"

// isFork reports whether a process is a child that a DNS server forked to serve a connection, as dnsmasq does for each
// TCP connection. Such a child holds the server's sockets and looks like a separate server, many times per second; it
// is the server itself, and is not watched separately. A guardian that starts the real server shares no socket with it.
// Called with mu held.
func (w *Watcher) isFork(pid int, k *known) bool {
	if k.fork { // even when its parent is gone: it serves one connection to the end
		return true
	}
	parent := w.known[k.parent]
	if parent == nil || parent.candidate == nil || parent.candidate.DNS == "" || parent.command != k.command {
		return false
	}
	if !parent.forks && !shareUDP(w.registry.Roots.Proc, k.parent, pid) {
		return false
	}
	parent.forks, k.fork = true, true
	return true
}

// shareUDP reports whether two processes hold the same serving UDP socket.
func shareUDP(proc string, parent, child int) bool {
	ofParent, err := netsock.Inodes(proc, parent)
	if err != nil {
		return false
	}
	ofChild, err := netsock.Inodes(proc, child)
	if err != nil {
		return false
	}
	shared := false
	for _, table := range []string{"udp", "udp6"} {
		_ = netsock.List(proc, parent, table, func(s *netsock.Socket) { // no IPv6, no udp6
			_, one := ofParent[s.Inode]
			_, other := ofChild[s.Inode]
			shared = shared || s.Unconnected() && one && other
		})
	}
	return shared
}
