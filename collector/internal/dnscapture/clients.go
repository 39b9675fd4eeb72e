package dnscapture

import (
	"encoding/binary"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// clients counts the queries of a server's clients, to give a path to the busiest. It is a set-associative table:
// bounded, and a client with few queries gives way to a new one.
type clients struct {
	entries [clientSets][clientWays]client
}

const (
	clientSets = 64
	clientWays = 4
)

type client struct {
	address dnswire.Address
	recent  uint32
	path    uint16
}

// count counts a query and returns the path of the client.
func (c *clients) count(address *dnswire.Address) uint16 {
	low, high := binary.LittleEndian.Uint64(address[:8]), binary.LittleEndian.Uint64(address[8:])
	mixed := (low ^ high) * 0x9e3779b97f4a7c15
	set := &c.entries[mixed>>58]
	victim := -1
	for i := range set {
		if entry := &set[i]; entry.recent > 0 && entry.address == *address {
			entry.recent++
			return entry.path
		} else if entry.path == 0 && (victim < 0 || entry.recent < set[victim].recent) {
			victim = i
		}
	}
	if victim >= 0 {
		set[victim] = client{address: *address, recent: 1}
	}
	return 0
}

// PathChange is a path to be created, either replacing another one or new.
type PathChange struct {
	Client   dnswire.Address
	index    uint16
	replaced batch.ResourceID
}

// busiest returns the busiest client without a path and the quietest path. Called with the tracker locked.
func (s *Server) busiest() (best *client, free uint16, quietest *client) {
	var used [MaxPaths + 1]bool
	for i := range s.clients.entries {
		for k := range s.clients.entries[i] {
			entry := &s.clients.entries[i][k]
			switch {
			case entry.path != 0:
				used[entry.path] = true
				if quietest == nil || entry.recent < quietest.recent {
					quietest = entry
				}
			case entry.recent > 0 && (best == nil || entry.recent > best.recent):
				best = entry
			}
		}
	}
	for index := uint16(1); index <= MaxPaths; index++ {
		if !used[index] {
			return best, index, quietest
		}
	}
	return best, 0, quietest
}

// decay halves the counts, so that they reflect about the last 30 s.
func (s *Server) decay() {
	for i := range s.clients.entries {
		for k := range s.clients.entries[i] {
			entry := &s.clients.entries[i][k]
			if entry.recent /= 2; entry.path != 0 && entry.recent == 0 {
				entry.recent = 1 // keeps its place until a busier client needs it
			}
		}
	}
}
