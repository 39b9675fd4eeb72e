// Package requests contains the source that times the requests of TCP servers.
package requests

import (
	"context"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/requests"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("tcp_requests", func() sampler.Source { return &tcpRequests{} }, "cgroup_cpu")
}

// tcpRequests times the requests of every TCP server on this machine, by cgroup and port.
type tcpRequests struct {
	registry *sampler.Registry
	programs *requests.Programs
	tracker  *requests.Tracker
	manager  *manager
}

func (s *tcpRequests) Name() string { return "tcp_requests" }

// requestOptions are the [sources.tcp_requests] table.
type requestOptions struct {
	// ReadStatus counts unencrypted HTTP/1 answers by the class of their status.
	ReadStatus bool `toml:"read_status"`
	// ReadKinds counts unencrypted requests by kind: method and route, command, statement.
	ReadKinds bool `toml:"read_kinds"`
}

func (s *tcpRequests) Start(ctx context.Context, registry *sampler.Registry) error {
	options := requestOptions{ReadStatus: true, ReadKinds: true}
	if err := registry.Options(&options); err != nil {
		return err
	}
	programs, err := requests.Open(options.ReadStatus, options.ReadKinds)
	if err != nil {
		return &sampler.Unavailable{Detail: bpf.Explain(err), Needs: requests.Needs}
	}
	s.registry, s.programs = registry, programs
	s.tracker = requests.NewTracker(programs, registry.IsOrdinary())
	s.manager = newManager(registry, s.tracker)
	s.manager.blind = programs.Blind() && (options.ReadStatus || options.ReadKinds)
	// Work that should not wait for the next discovery, off the sampling thread: servers that receive their first
	// request, and requests that are ready to be sent.
	registry.Every(ctx, 250*time.Millisecond, s.manager.admit)
	registry.Every(ctx, 250*time.Millisecond, s.manager.admitUpstreams)
	registry.Every(ctx, 500*time.Millisecond, s.flush)
	if options.ReadKinds {
		registry.Every(ctx, kindsEvery, s.manager.tellKinds)
	}
	return nil
}

func (s *tcpRequests) Discover(ctx context.Context) { s.manager.discover(ctx) }

// Sample also fills in the ticks that the sampler missed: the programs timestamp what they report.
func (s *tcpRequests) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	s.tracker.Sample(tick.EndUS(), tick.Missed, recorder)
}

// kindsEvery is how often the requests of each server are reported.
const kindsEvery = 10 * time.Second

func (s *tcpRequests) flush() {
	for _, block := range s.tracker.Flush() {
		s.registry.Queries(block.Server, block.Queries)
	}
}

// Finish sends what is ready.
func (s *tcpRequests) Finish() {
	s.flush()
	s.manager.tellKinds()
}

// EachCounter implements sampler.Counters.
func (s *tcpRequests) EachCounter(yield func(name string, value float64)) {
	finished, open := s.tracker.Statistics()
	yield("calls_total", float64(s.tracker.Calls()))
	yield("requests_total", float64(finished))
	yield("requests_open", float64(open))
	yield("requests_lost_total", float64(s.programs.Lost()))
	yield("http2_frames_lost_total", float64(s.programs.Astray()))
}

func (s *tcpRequests) Close() error {
	s.manager.scanner.Close()
	return s.programs.Close()
}
