package dnscapture

import (
	"sync/atomic"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/exchanges"
	"github.com/jitterscope/jitterscope/collector/internal/owing"
)

// Recorder is the part of sampler.Recorder that the tracker writes to.
type Recorder interface {
	SetAt(back int, slot batch.Slot, value float64)
	Distribution(back int, resource batch.ResourceID, metric uint32, histogram *batch.Histogram)
	Trigger(resource batch.ResourceID, reason string, atUS int64)
}

// Limits.
const (
	MaxServers = 64
	MaxPaths   = 8 // clients with their own path; the others share path 0
)

// ServerKey is an address on which a server answers, as seen by one capture (network namespace).
type ServerKey struct {
	dnswire.Endpoint
	Capture uint8
}

// Counted is a resource whose queries are counted: a server or a path.
type Counted struct {
	Resource                                                               batch.ResourceID
	queries, answers, nxdomain, servfail, refused, timeouts, slow          uint32
	qSlot, aSlot, nxSlot, servfailSlot, refusedSlot, timeoutSlot, slowSlot batch.Slot
	latency                                                                batch.Histogram
	connections                                                            uint32
	connectionsSlot                                                        batch.Slot
}

// NewCounted makes the series of a resource.
func NewCounted(resource batch.ResourceID, series func(batch.ResourceID, uint32) batch.Slot) *Counted {
	return &Counted{
		Resource: resource,
		qSlot:    series(resource, catalogue.DNSQueries), aSlot: series(resource, catalogue.DNSAnswers),
		nxSlot: series(resource, catalogue.DNSNxdomain), servfailSlot: series(resource, catalogue.DNSServfail),
		refusedSlot: series(resource, catalogue.DNSRefused), timeoutSlot: series(resource, catalogue.DNSTimeouts),
		slowSlot: series(resource, catalogue.DNSSlow), connectionsSlot: series(resource, catalogue.DNSTcpConnections),
	}
}

func (c *Counted) answer(result uint8, latencyUS int64) {
	c.answers++
	switch result {
	case exchanges.ResultNXDomain:
		c.nxdomain++
	case exchanges.ResultServFail:
		c.servfail++
	case exchanges.ResultRefused:
		c.refused++
	}
	if latencyUS > catalogue.SlowUS {
		c.slow++
	}
	c.latency.Observe(latencyUS)
}

// record writes what was counted into a tick, or discards it if the tick is not to be recorded.
func (c *Counted) record(back int, recorder Recorder, write bool) {
	if write {
		recorder.SetAt(back, c.qSlot, float64(c.queries))
		recorder.SetAt(back, c.aSlot, float64(c.answers))
		recorder.SetAt(back, c.nxSlot, float64(c.nxdomain))
		recorder.SetAt(back, c.servfailSlot, float64(c.servfail))
		recorder.SetAt(back, c.refusedSlot, float64(c.refused))
		recorder.SetAt(back, c.timeoutSlot, float64(c.timeouts))
		recorder.SetAt(back, c.slowSlot, float64(c.slow))
		if c.latency.Total() > 0 {
			recorder.Distribution(back, c.Resource, catalogue.DNSLatencyUS, &c.latency)
		}
	}
	c.queries, c.answers, c.nxdomain, c.servfail, c.refused, c.timeouts, c.slow = 0, 0, 0, 0, 0, 0, 0
	c.latency.Reset()
}

// Server is one address of a DNS server on this machine.
type Server struct {
	Key ServerKey
	// Subject is what a trigger asks to diagnose: the cgroup of the server's process.
	Subject batch.ResourceID
	// Throttled are the series of throttled periods of the server's cgroup and its ancestors.
	Throttled []batch.Slot

	total                 *Counted
	maxUS                 int64
	unanswered            int
	silence               owing.Silence
	wait, work            batch.Histogram
	maxSlot, inflightSlot batch.Slot
	lateServfail          uint32 // SERVFAIL answers to queries that were given up
	lateSlot              batch.Slot
	fromUS                int64 // earlier ticks are incomplete

	paths   [MaxPaths + 1]*path // 0: all clients without their own path
	clients clients

	kept      exchanges.Server
	addedNS   int64
	asked     uint64 // queries since it has been watched
	troubleNS int64  // last slow answer, timeout or SERVFAIL

	top         *topTable // nil: names are not counted
	namesWanted atomic.Bool
	urgentNS    int64 // when a span of names last ended early
}

// path is the queries of one client to one server.
type path struct {
	*Counted
	client dnswire.Address
}

// NewServer creates a server; resource is its dns_server resource and other the path of the clients without their own.
func NewServer(key ServerKey, resource, other, subject batch.ResourceID, nowNS int64,
	series func(batch.ResourceID, uint32) batch.Slot) *Server {
	s := &Server{
		Key: key, Subject: subject, total: NewCounted(resource, series), kept: exchanges.NewServer(resource, nowNS), addedNS: nowNS,
		maxSlot: series(resource, catalogue.DNSLatencyMaxUS), inflightSlot: series(resource, catalogue.DNSInflight),
		lateSlot: series(resource, catalogue.DNSLateServfail),
		fromUS:   (nowNS/1000/batch.StepUS + 1) * batch.StepUS,
	}
	s.paths[0] = &path{Counted: NewCounted(other, series)}
	return s
}

// Resource is the dns_server resource.
func (s *Server) Resource() batch.ResourceID { return s.total.Resource }

// Debt is whether it owes answers and gives none, as of the last tick.
func (s *Server) Debt() owing.Debt { return &s.silence }

// Resources lists the server's own resource and those of its paths.
func (s *Server) Resources() []batch.ResourceID {
	resources := []batch.ResourceID{s.total.Resource}
	for _, p := range s.paths {
		if p != nil {
			resources = append(resources, p.Resource)
		}
	}
	return resources
}

// pathOf returns the path for an answer to a query that was counted on path index: the path can belong to another
// client by now.
func (s *Server) pathOf(index uint16, client *dnswire.Address) *path {
	if p := s.paths[index]; p != nil && (index == 0 || p.client == *client) {
		return p
	}
	return s.paths[0]
}

func (s *Server) record(back int, endUS int64, recorder Recorder) {
	write := endUS-batch.StepUS >= s.fromUS
	if write {
		if s.total.answers > 0 {
			recorder.SetAt(back, s.maxSlot, float64(s.maxUS))
		}
		recorder.SetAt(back, s.inflightSlot, float64(s.unanswered))
		recorder.SetAt(back, s.lateSlot, float64(s.lateServfail))
		if s.wait.Total() > 0 {
			recorder.Distribution(back, s.total.Resource, catalogue.DNSQueueWaitUS, &s.wait)
			recorder.Distribution(back, s.total.Resource, catalogue.DNSWorkUS, &s.work)
		}
	}
	s.maxUS, s.lateServfail = 0, 0
	s.wait.Reset()
	s.work.Reset()
	s.total.record(back, recorder, write)
	for _, p := range s.paths {
		if p != nil {
			p.record(back, recorder, write)
		}
	}
}
