package ship

import (
	"context"
	"errors"
	"net/http"
)

// suspect is the batch that the backend failed on last.
type suspect struct {
	sequence uint64
	failures int // in a row
}

// suspectAfter failures, about a minute, a batch may be the reason for them.
const suspectAfter = 8

// suspects counts an internal error (500) of the backend and tells whether the batch may be its reason. What the backend
// answers while a part of it is down is 503, for which the batch just waits.
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

// getsPast sends the batch behind a suspect. Where the backend takes it, the suspect is set aside: one batch must not keep
// all that come after it.
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
	s.spool.Quarantine(sequence, "the backend failed on it again and again, and took the next one")
	s.config.Log.Error("the backend fails on a batch and takes the next one; it was set aside in the spool's quarantine folder. Please report it",
		"sequence", sequence, "failures", s.failed.failures)
	return true
}
