// Package runtime contains the sources that follow the garbage collectors of runtimes other than Go.
package runtime

import (
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

const (
	lookFirst = time.Second
	lookMost  = 32 * time.Second // a process without a runtime by then stays so
)

// seeker looks for a runtime in the watched processes, and keeps what it found in each.
type seeker[T any] struct {
	registry *sampler.Registry
	look     func(*procwatch.Process) (found *T, decided bool) // not decided: look again later
	shut     func(*T)                                          // after the last Sample that saw it

	found []*T // read by Sample; changed only in Registry.Between

	mu         sync.Mutex
	candidates map[*procwatch.Process]*candidate[T]
}

type candidate[T any] struct {
	found   *T
	decided bool
	due     time.Time
	wait    time.Duration
}

// change follows the watched processes: pass it to procwatch.Watcher.Subscribe.
func (s *seeker[T]) change(added, removed []*procwatch.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.candidates == nil {
		s.candidates = make(map[*procwatch.Process]*candidate[T])
	}
	var gone []*T
	for _, process := range removed {
		if c := s.candidates[process]; c != nil && c.found != nil {
			gone = append(gone, c.found)
		}
		delete(s.candidates, process)
	}
	for _, process := range added {
		if process.Go == nil {
			s.candidates[process] = &candidate[T]{wait: lookFirst}
		}
	}
	if len(gone) > 0 {
		s.publish()
	}
	for _, one := range gone {
		s.shut(one)
	}
}

// discover examines the processes that are not decided yet.
func (s *seeker[T]) discover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, more := time.Now(), false
	for process, c := range s.candidates {
		if c.decided || now.Before(c.due) {
			continue
		}
		c.found, c.decided = s.look(process)
		more = more || c.found != nil
		if c.due, c.wait = now.Add(c.wait), 2*c.wait; c.wait > 2*lookMost {
			c.decided = true
		}
	}
	if more {
		s.publish()
	}
}

// publish makes what was found visible to Sample. Called with mu held.
func (s *seeker[T]) publish() {
	var found []*T
	for _, c := range s.candidates {
		if c.found != nil {
			found = append(found, c.found)
		}
	}
	s.registry.Between(func() { s.found = found })
}

// close shuts everything after the last Sample.
func (s *seeker[T]) close() {
	for _, one := range s.found {
		s.shut(one)
	}
	s.found = nil
}
