package dnscapture

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// ErrFull means that MaxServers are already watched.
var ErrFull = errors.New("more DNS servers than can be watched")

// Candidates removes and returns the addresses that received packets, are not known yet, and might be DNS servers.
func (t *Tracker) Candidates() []ServerKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := slices.Clone(t.candidates[:t.waiting])
	t.waiting = 0
	return taken
}

// Known reports whether the address is watched.
func (t *Tracker) Known(key ServerKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	number, ok := t.index[key]
	return ok && number != foreign
}

// Ignore marks an address that is not a server on this machine.
func (t *Tracker) Ignore(key ServerKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.index) < maxForeign {
		t.index[key] = foreign
	}
}

// Reconsider forgets which addresses to ignore.
func (t *Tracker) Reconsider() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, number := range t.index {
		if number == foreign {
			delete(t.index, key)
		}
	}
}

// Add watches a server.
func (t *Tracker) Add(server *Server) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.servers {
		if other == nil {
			t.history.Watch(&server.kept)
			if t.countNames {
				server.top = newTopTable(server, server.addedNS)
			}
			t.servers[i] = server
			t.index[server.Key] = uint16(i)
			return nil
		}
	}
	return ErrFull
}

// Remove forgets a server and its unanswered queries.
func (t *Tracker) Remove(server *Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number, ok := t.index[server.Key]
	if !ok || number == foreign || t.servers[number] != server {
		return
	}
	for _, table := range []*inflight{t.inflight, t.given} {
		for entry := table.first(); entry != nil; {
			following := table.after(entry)
			if entry.server == number {
				table.remove(entry)
			}
			entry = following
		}
	}
	t.history.Forget(number)
	delete(t.index, server.Key)
	t.servers[number] = nil
}

// Promote returns a client of the server that deserves its own path, if any; apply it with SetPath.
func (t *Tracker) Promote(server *Server) (PathChange, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	best, free, quietest := server.busiest()
	switch {
	case best == nil:
		return PathChange{}, false
	case free != 0:
		return PathChange{Client: best.address, index: free}, true
	case best.recent > 2*quietest.recent:
		index := quietest.path
		return PathChange{Client: best.address, index: index, replaced: server.paths[index].Resource}, true
	}
	return PathChange{}, false
}

// SetPath applies a change and returns the resource that is no longer counted on, NoResource if there is none: a client
// that lost its entry in the table and comes back replaces its own path, whose resource continues.
func (t *Tracker) SetPath(server *Server, change PathChange, counted *Counted) batch.ResourceID {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := batch.NoResource
	if p := server.paths[change.index]; p != nil && p.Resource != counted.Resource {
		old = p.Resource
	}
	server.paths[change.index] = &path{Counted: counted, client: change.Client}
	for i := range server.clients.entries {
		for k := range server.clients.entries[i] {
			entry := &server.clients.entries[i][k]
			switch {
			case entry.recent > 0 && entry.address == change.Client:
				entry.path = change.index
			case entry.path == change.index:
				entry.path = 0
			}
		}
	}
	return old
}

// Decay reduces the clients' counts over time; call it every 10 s.
func (t *Tracker) Decay(server *Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	server.decay()
}

// Queries is how many queries a server received since it has been watched.
func (t *Tracker) Queries(server *Server) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return server.asked
}

// SinceTrouble is how long ago a server had a slow answer, a timeout or a SERVFAIL; false if it never had one.
func (t *Tracker) SinceTrouble(server *Server) (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Duration(t.nowNS - server.troubleNS), server.troubleNS != 0
}

// Text formats an address for people.
func Text(address dnswire.Address) string { return netip.AddrFrom16(address).Unmap().String() }
