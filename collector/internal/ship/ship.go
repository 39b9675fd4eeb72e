// Package ship sends spooled batches to the backend: oldest first, each until it is acknowledged or permanently
// rejected.
package ship

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/spool"
)

// Config is where and how to send.
type Config struct {
	URL     string                 // the full URL of the ingest endpoint
	Token   func() (string, error) // read for each attempt, so that a rotated token takes effect at once
	Client  *http.Client
	Version string
	Log     *slog.Logger
	// Heard receives the sources that the organization switched off, with each answer that accepted a batch; it can be
	// nil.
	Heard func(off string)
}

// Stats count what happened; read them with atomic loads.
type Stats struct {
	Sent, Failed, Refused atomic.Uint64
	SentBytes             atomic.Uint64
	LastSuccessUS         atomic.Int64
}

const (
	firstWait = 500 * time.Millisecond
	longest   = 30 * time.Second
	// A wrong token or address needs a person to fix it; the data waits in the spool.
	misconfiguredWait = 30 * time.Second
	requestTimeout    = 30 * time.Second
	// sourcesOff is the header that names them; absent if there are none.
	sourcesOff = "Jitterscope-Sources-Off"
)

// Shipper sends.
type Shipper struct {
	config Config
	spool  *spool.Spool
	stats  Stats
	buffer []byte
	told   string // the last failure logged, to log it once
	// Why batches are permanently rejected now; empty since the backend last accepted one.
	refusing atomic.Pointer[string]
	first    time.Duration
	failed   suspect
	reason   string // of the last permanent rejection
}

// New makes a Shipper.
func New(config Config, from *spool.Spool) *Shipper {
	return &Shipper{config: config, spool: from, first: firstWait}
}

// Stats returns the counters.
func (s *Shipper) Stats() *Stats { return &s.stats }

// Refusing returns why the backend permanently rejects batches; empty while it accepts them.
func (s *Shipper) Refusing() string {
	if why := s.refusing.Load(); why != nil {
		return *why
	}
	return ""
}

// Run sends until ctx ends.
func (s *Shipper) Run(ctx context.Context) {
	wait := s.first
	for ctx.Err() == nil {
		sequence, data, ok := s.spool.Oldest(s.buffer)
		s.buffer = data
		if !ok {
			select {
			case <-ctx.Done():
			case <-s.spool.Arrived():
			}
			continue
		}
		err := s.send(ctx, data)
		pause, retry := s.handleResult(sequence, int64(len(data)), err, wait)
		if !retry || s.suspects(sequence, err) && s.getsPast(ctx, sequence) {
			wait = s.first
			continue
		}
		wait = min(wait*2, longest)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	s.spool.Return()
}

// Flush sends what is spooled, each batch once, until ctx ends or a batch fails: the last attempt before the collector
// stops.
func (s *Shipper) Flush(ctx context.Context) {
	for {
		sequence, data, ok := s.spool.Oldest(s.buffer)
		if !ok {
			return
		}
		err := s.send(ctx, data)
		if _, retry := s.handleResult(sequence, int64(len(data)), err, firstWait); retry {
			return
		}
	}
}

// handleResult decides what happens to a batch after an attempt, and how long to wait before a retry.
func (s *Shipper) handleResult(sequence uint64, size int64, err error, wait time.Duration) (pause time.Duration, retry bool) {
	if err == nil {
		s.spool.Remove(sequence)
		s.stats.Sent.Add(1)
		s.stats.SentBytes.Add(uint64(size))
		s.stats.LastSuccessUS.Store(time.Now().UnixMicro())
		if s.told != "" || s.Refusing() != "" {
			s.config.Log.Info("the backend accepts batches again", "refused_batches", s.stats.Refused.Load())
			s.told = ""
			s.refusing.Store(nil)
		}
		return 0, false
	}
	var refusal *refusal
	errors.As(err, &refusal)
	if refusal != nil && refusal.permanent() {
		s.stats.Refused.Add(1)
		s.spool.Quarantine(sequence, err.Error())
		// One reason rejects every batch, as a wrong clock does: it is logged once.
		if s.reason != refusal.kind || s.Refusing() == "" {
			s.config.Log.Error("the backend rejects batches permanently; they are moved to the spool's quarantine folder",
				"sequence", sequence, "error", err)
		}
		s.reason = refusal.kind
		s.refusing.Store(&refusal.detail)
		return 0, false
	}
	s.spool.Return()
	s.stats.Failed.Add(1)
	pause = wait/2 + rand.N(wait) // jitter, so that collectors do not come back all at once
	if refusal != nil {
		pause = max(pause, refusal.retryAfter)
		if refusal.misconfigured() {
			pause = misconfiguredWait/2 + rand.N(misconfiguredWait)
		}
	}
	if message := err.Error(); message != s.told {
		s.told = message
		s.config.Log.Warn("sending failed; batches wait in the spool", "error", err, "retry_in", pause.Round(time.Millisecond).String())
	}
	return pause, true
}

// send makes one attempt. A response other than success is a *refusal.
func (s *Shipper) send(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.URL, bytes.NewReader(data))
	if err != nil {
		return err
	}
	token, err := s.config.Token()
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "zstd")
	request.Header.Set("User-Agent", "jitterscope-collector/"+s.config.Version)
	response, err := s.config.Client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 16<<10))
	if response.StatusCode/100 == 2 {
		if s.config.Heard != nil {
			s.config.Heard(response.Header.Get(sourcesOff))
		}
		return nil
	}
	return newRefusal(response, body)
}

// refusal is a response that did not accept the batch.
type refusal struct {
	status     int
	kind       string // from the problem document; empty if there is none
	detail     string
	retryAfter time.Duration
}

func newRefusal(response *http.Response, body []byte) *refusal {
	r := &refusal{status: response.StatusCode}
	var problem struct{ Type, Title, Detail string } // RFC 9457
	if json.Unmarshal(body, &problem) == nil && problem.Title+problem.Detail != "" {
		r.kind, r.detail = problem.Type, problem.Title
		if problem.Detail != "" {
			r.detail += ": " + problem.Detail
		}
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		r.retryAfter = min(time.Duration(seconds)*time.Second, 5*time.Minute)
	}
	return r
}

func (r *refusal) Error() string {
	if r.detail == "" {
		return fmt.Sprintf("HTTP %d %s", r.status, http.StatusText(r.status))
	}
	return fmt.Sprintf("HTTP %d %s", r.status, r.detail)
}

// misconfigured: the token or the address is wrong, not the batch.
func (r *refusal) misconfigured() bool {
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusProxyAuthRequired:
		return true
	}
	return r.status/100 == 3
}

// permanent: this batch will never be accepted.
func (r *refusal) permanent() bool {
	if r.status/100 != 4 || r.misconfigured() {
		return false
	}
	switch r.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return true
}
