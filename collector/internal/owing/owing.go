// Package owing tells which servers owe answers and give none. The sources that time requests list their servers here;
// the flight recorder reads what the threads of silent ones wait in.
package owing

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
)

// Debt is what a server owes to its clients. One goroutine calls it. Times are nanoseconds since the Unix epoch.
type Debt interface {
	// SilentSinceNS is since when the server has owed an answer and given none, as far as known at nowNS; 0: it owes
	// none. It changes with each answer.
	SilentSinceNS(nowNS int64) int64
	// BrokenNS is a time no later than its first answer after the last silence of at least Least, 0: none.
	BrokenNS() int64
}

// Server is a server whose requests are timed. It is immutable.
type Server struct {
	Resource batch.ResourceID
	PID      int // of its oldest process
	Debt     Debt
}

// Board lists the servers of all sources.
type Board struct {
	mu   sync.Mutex
	by   map[string][]*Server
	list atomic.Pointer[[]*Server]
}

// Shared is the board of an engine; registry is a sampler.Registry.
func Shared(registry interface {
	Shared(name string, construct func() any) any
}) *Board {
	return registry.Shared("owing", func() any {
		b := &Board{by: make(map[string][]*Server)}
		b.list.Store(&[]*Server{})
		return b
	}).(*Board)
}

// Set replaces the servers of a source. It keeps the list.
func (b *Board) Set(source string, servers []*Server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Equal(b.by[source], servers) {
		return
	}
	b.by[source] = servers
	var all []*Server
	for _, each := range b.by {
		all = append(all, each...)
	}
	b.list.Store(&all)
}

// List is the current servers. The pointer changes with the list.
func (b *Board) List() *[]*Server { return b.list.Load() }
