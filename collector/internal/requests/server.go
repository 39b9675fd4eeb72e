package requests

import (
	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
)

// Recorder is the part of sampler.Recorder that the tracker writes to.
type Recorder interface {
	SetAt(back int, slot batch.Slot, value float64)
	Distribution(back int, resource batch.ResourceID, metric uint32, histogram *batch.Histogram)
	Trigger(resource batch.ResourceID, reason string, atUS int64)
	Throttled(series []batch.Slot) bool
}

// Server is a server whose requests are counted.
type Server struct {
	place
	counted *counted // nil: it has no series, because it never received a request or others are busier

	readCame    [ticks]uint32 // counts of the programs at the last read
	readPassed  [ticks]uint32
	readLost    uint32
	open        [ticks]int32 // requests without an answer, by the tick in which they arrived
	came, ended uint64
	recent      uint64 // recent requests, see Decay
	queued      uint32 // most connections waiting to be accepted, in the tick
	drops       uint32 // connection attempts that were dropped and are not recorded yet

	shift      uint32 // of requests that are answered in time, one in 2^shift is reported
	passing    bool   // others were passed since Flush
	sinceTick  uint32 // when the rate began to be measured
	cameBefore uint64
}

// unanswered is how many requests have no answer yet.
func (s *Server) unanswered() uint64 { return s.came - min(s.ended, s.came) }

// counted is what a server has counted in the current tick, and its series.
type counted struct {
	kept      exchanges.Server
	throttled []batch.Slot // series of throttled periods of its cgroup and its ancestors
	fromUS    int64        // earlier ticks are incomplete

	requests, responses, slow, abandoned uint32
	http, grpc                           statuses // of unencrypted answers
	maxUS                                int64
	latency, wait                        batch.Histogram
	requestSlot, responseSlot, slowSlot  batch.Slot
	abandonedSlot, maxSlot, inflightSlot batch.Slot
	connections                          connections
	kinds                                *Kinds
}

func newCounted(resource batch.ResourceID, nowNS int64, series func(batch.ResourceID, uint32) batch.Slot) *counted {
	return &counted{
		kept: exchanges.NewServer(resource, nowNS), fromUS: (nowNS/1000/batch.StepUS + 1) * batch.StepUS,
		requestSlot: series(resource, catalogue.Requests), responseSlot: series(resource, catalogue.Responses),
		slowSlot: series(resource, catalogue.ResponsesSlow), abandonedSlot: series(resource, catalogue.RequestsUnanswered),
		maxSlot: series(resource, catalogue.RequestLatencyMaxUS), inflightSlot: series(resource, catalogue.RequestsInflight),
		http: statuses{
			answersSlot: series(resource, catalogue.HttpResponses), clientSlot: series(resource, catalogue.HttpClientErrors),
			serverSlot: series(resource, catalogue.HttpServerErrors),
		},
		grpc: statuses{
			answersSlot: series(resource, catalogue.GrpcResponses), clientSlot: series(resource, catalogue.GrpcClientErrors),
			serverSlot: series(resource, catalogue.GrpcServerErrors),
		},
		connections: newConnections(resource, series), kinds: newKinds(nowNS / 1000),
	}
}

// record writes what was counted into a tick, or discards it if the tick is not to be recorded.
func (c *counted) record(back int, endUS int64, server *Server, recorder Recorder) {
	if endUS-batch.StepUS >= c.fromUS {
		recorder.SetAt(back, c.requestSlot, float64(c.requests))
		recorder.SetAt(back, c.responseSlot, float64(c.responses))
		recorder.SetAt(back, c.slowSlot, float64(c.slow))
		recorder.SetAt(back, c.abandonedSlot, float64(c.abandoned))
		recorder.SetAt(back, c.inflightSlot, float64(server.unanswered()))
		c.http.record(back, recorder)
		c.grpc.record(back, recorder)
		if c.latency.Total() > 0 {
			recorder.SetAt(back, c.maxSlot, float64(c.maxUS))
			recorder.Distribution(back, c.kept.Resource, catalogue.RequestLatencyUS, &c.latency)
		}
		if c.wait.Total() > 0 {
			recorder.Distribution(back, c.kept.Resource, catalogue.RequestWaitUS, &c.wait)
		}
		c.connections.record(back, server, c.kept.Resource, recorder)
	}
	server.queued, server.drops = 0, 0
	c.connections.reset()
	c.requests, c.responses, c.slow, c.abandoned, c.maxUS = 0, 0, 0, 0, 0
	c.http.reset()
	c.grpc.reset()
	c.latency.Reset()
	c.wait.Reset()
}
