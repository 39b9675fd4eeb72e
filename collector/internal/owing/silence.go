package owing

import (
	"sync/atomic"
	"time"
)

// Least is how long a server must owe an answer and give none to count as silent.
const Least = 30 * time.Millisecond

// Silence is the Debt of a server whose queries and answers are seen one by one. Its owner calls Asked, Answered, and
// Publish under one lock; readers see the state at the last Publish.
type Silence struct {
	sinceNS, endedNS int64
	silent, broken   atomic.Int64
}

// Asked records a query that came while no other was unanswered.
func (s *Silence) Asked(atNS int64) { s.sinceNS = atNS }

// Answered records an answer.
func (s *Silence) Answered(atNS int64) {
	if s.sinceNS != 0 && atNS-s.sinceNS >= int64(Least) {
		s.endedNS = atNS
	}
	s.sinceNS = atNS
}

// Publish shows the state to readers; owes: queries are unanswered.
func (s *Silence) Publish(owes bool) {
	s.broken.Store(s.endedNS)
	if owes {
		s.silent.Store(s.sinceNS)
	} else {
		s.silent.Store(0)
	}
}

// SilentSinceNS implements Debt.
func (s *Silence) SilentSinceNS(int64) int64 { return s.silent.Load() }

// BrokenNS implements Debt.
func (s *Silence) BrokenNS() int64 { return s.broken.Load() }
