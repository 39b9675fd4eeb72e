package ship

import (
	"context"
	"errors"
	"net/http"
)

// suspect is the batch on which the backend last failed.
type suspect struct {
	sequence uint64
	failures int // in a row
}

// suspectAfter is the number of failures, about a minute, after which a batch might be their cause.
const suspectAfter = 8

// suspects counts an internal error (500) of the backend and reports whether the batch might be its cause. While a part
// of the backend is down it answers 503, and the batch only waits.
func (s *Shipper) suspects(sequence uint64, err error) bool {
	var refusal *refusal
	if !errors.As(err, &refusal) || refusal.status != http.StatusInternalServerError {
		s.failed = suspect{}
		return false
	}
	if s.failed.sequence != sequence {
		s.failed = suspect{sequence: sequence}
	}
	s.failed.failures++
	return s.failed.failures >= suspectAfter
}

// getsPast sends the batch after a suspect. If the backend accepts it, the suspect is set aside: one batch must not
// block all later ones.
func (s *Shipper) getsPast(ctx context.Context, sequence uint64) bool {
	next, data, ok := s.spool.Second(s.buffer)
	s.buffer = data
	if !ok {
		return false
	}
	err := s.send(ctx, data)
	s.handleResult(next, int64(len(data)), err, s.first)
	if err != nil {
		return false
	}
	s.stats.Refused.Add(1)
	s.spool.Quarantine(sequence, "the backend failed on it repeatedly, and accepted the next one")
	s.config.Log.Error("the backend failed on a batch but accepted the next one; it was moved to the spool's quarantine folder, report it",
		"sequence", sequence, "failures", s.failed.failures)
	return true
}
