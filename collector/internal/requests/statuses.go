package requests

import (
	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/http2head"
)

// serverCodes are the codes of gRPC by which a server says that it failed, a bit each: UNKNOWN, DEADLINE_EXCEEDED,
// UNIMPLEMENTED, INTERNAL, UNAVAILABLE, and DATA_LOSS (OpenTelemetry's semantic conventions for spans of gRPC servers).
const serverCodes = 1<<2 | 1<<4 | 1<<12 | 1<<13 | 1<<14 | 1<<15

// statuses are the answers of a protocol in the current tick, by what their status says.
type statuses struct {
	seen                                bool // the server has sent one
	answers, clientErrors, serverErrors uint32
	answersSlot, clientSlot, serverSlot batch.Slot
}

// count counts an answer that stands for many.
func (s *statuses) count(clientError, serverError bool, many uint32) {
	s.seen = true
	s.answers += many
	if clientError {
		s.clientErrors += many
	}
	if serverError {
		s.serverErrors += many
	}
}

func (s *statuses) record(back int, recorder Recorder) {
	if s.seen {
		recorder.SetAt(back, s.answersSlot, float64(s.answers))
		recorder.SetAt(back, s.clientSlot, float64(s.clientErrors))
		recorder.SetAt(back, s.serverSlot, float64(s.serverErrors))
	}
}

func (s *statuses) reset() { s.answers, s.clientErrors, s.serverErrors = 0, 0, 0 }

// answered counts an answer that stands for many by its status; see http2head.Status.
func (c *counted) answered(status http2head.Status, many uint32) {
	switch {
	case status >= http2head.GRPC:
		serverError := serverCodes>>(status-http2head.GRPC)&1 != 0
		c.grpc.count(status != http2head.GRPC && !serverError, serverError, many)
	case status != 0:
		c.http.count(status == 4, status == 5, many)
	}
}
