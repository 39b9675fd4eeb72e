package requests

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
)

// ErrFull means that all places are taken.
var ErrFull = errors.New("more listening servers than can be distinguished")

// Add allocates a place for a server. Nothing is counted for it before SetEndpoints says where it listens.
func (t *Tracker) Add() (*Server, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for number, other := range t.servers {
		if other != nil {
			continue
		}
		t.generation++
		server := &Server{place: place{uint32(number), t.generation}}
		counts := &t.programs.counts[number]
		server.readLost = atomic.LoadUint32(&counts.Lost)
		atomic.StoreUint32(&counts.Queued, 0)
		atomic.StoreUint32(&counts.Shift, 0)
		for slot := range server.readCame {
			server.readCame[slot] = atomic.LoadUint32(&counts.Came[slot])
			server.readPassed[slot] = atomic.LoadUint32(&counts.Passed[slot])
		}
		t.servers[number] = server
		atomic.StoreUint32(&counts.Generation, server.generation)
		return server, nil
	}
	return nil, ErrFull
}

// Remove forgets a server.
func (t *Tracker) Remove(server *Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	atomic.StoreUint32(&t.programs.counts[server.number].Generation, 0)
	t.history.Forget(uint16(server.number))
	t.servers[server.number] = nil
}

// SetEndpoints replaces where the servers listen. If two servers have the same endpoint, either can be chosen.
func (t *Tracker) SetEndpoints(endpoints map[Endpoint]*Server) error {
	places := make(map[Endpoint]place, len(endpoints))
	for endpoint, server := range endpoints {
		places[endpoint] = server.place
	}
	return t.programs.setEndpoints(places)
}

// SetCallers sets the processes whose calls are wanted: by process, the number of its cgroup.
func (t *Tracker) SetCallers(callers map[uint32]uint32) error { return t.programs.setCallers(callers) }

// FollowConnections starts timing the connections that predate the programs. It is called once the listeners are known.
func (t *Tracker) FollowConnections() error { return t.programs.followConnections() }

// Asked reports whether a server ever received a request, or dropped a client that wanted to send one, and how many it
// received recently.
func (t *Tracker) Asked(server *Server) (ever bool, recent uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return server.came > 0 || server.drops > 0, server.recent
}

// TimedOneIn is how many requests of a server there are for each that is timed: 1, unless they are very many.
func (t *Tracker) TimedOneIn(server *Server) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return 1 << server.shift
}

// Decay halves the recent count of Asked.
func (t *Tracker) Decay() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, server := range t.servers {
		if server != nil {
			server.recent /= 2
		}
	}
}

// Time gives a server series, on its own resource.
func (t *Tracker) Time(server *Server, resource batch.ResourceID, series func(batch.ResourceID, uint32) batch.Slot) {
	counted := newCounted(resource, time.Now().UnixNano(), series)
	t.mu.Lock()
	defer t.mu.Unlock()
	server.counted = counted
}

// Leave removes a server's series.
func (t *Tracker) Leave(server *Server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	server.counted = nil
}

// SetThrottled sets the series that show that a server is throttled.
func (t *Tracker) SetThrottled(server *Server, series []batch.Slot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if server.counted != nil {
		server.counted.throttled = series
	}
}

// Flush returns the requests that became ready since the last call.
func (t *Tracker) Flush() []exchanges.Block {
	t.mu.Lock()
	defer t.mu.Unlock()
	lost := t.lost()
	t.lossy = t.lossy || lost != t.wasLost
	t.wasLost = lost
	var blocks []exchanges.Block
	for number, server := range t.servers {
		if server != nil && server.counted != nil {
			lossy := t.lossy || server.passing
			server.passing = server.shift > 0
			blocks = t.history.Flush(blocks, uint16(number), &server.counted.kept, t.settledNS(server), t.nowNS, lossy)
		}
	}
	for _, u := range t.calls.upstreams {
		if u != nil { // open requests are known only for servers
			blocks = t.history.Flush(blocks, u.place(), &u.kept, t.nowNS-exchanges.Patience, t.nowNS, t.lossy)
		}
	}
	t.lossy = false
	return blocks
}

// settledNS is the time before which every request of a server has been answered, or is too old to wait for.
func (t *Tracker) settledNS(server *Server) int64 {
	const stepNS = batch.StepUS * 1000
	for back := uint32(exchanges.Patience / stepNS); back < ticks; back-- { // until it wraps
		if server.open[(t.tick-back)%ticks] > 0 {
			return t.nowNS - int64(back+1)*stepNS
		}
	}
	return t.nowNS
}

// Statistics returns how many requests have ended, and how many are open.
func (t *Tracker) Statistics() (finished, open uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, server := range t.servers {
		if server != nil {
			open += server.unanswered()
		}
	}
	return t.finished, open
}
