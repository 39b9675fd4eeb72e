package node

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("self", func() sampler.Source { return &self{} }, "cgroup_cpu") }

// self is what the collector reports about itself: a late tick is evidence too.
type self struct {
	lateness, latency, cpu, rss, number batch.Slot
	statm                               procfs.Held
	pageBytes                           float64
	buffer                              [128]byte
}

func (s *self) Name() string { return "self" }

func (s *self) Start(_ context.Context, registry *sampler.Registry) error {
	s.lateness = registry.Series(batch.Node, catalogue.CollectorLatenessUS)
	s.latency = registry.Series(batch.Node, catalogue.RealtimeLatencyUS)
	s.cpu = registry.Series(batch.Node, catalogue.CollectorCPUUS)
	s.rss = registry.Series(batch.Node, catalogue.CollectorRSSBytes)
	s.number = registry.Series(batch.Node, catalogue.CollectorTick)
	// /proc and not Roots.Proc: this is about this process, wherever other processes' files are mounted.
	s.statm = procfs.HoldIfExists("/proc/self/statm")
	s.pageBytes = float64(os.Getpagesize())
	return nil
}

func (s *self) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	recorder.Set(s.lateness, float64(recorder.LatenessUS()))
	if latency := recorder.LatencyUS(); latency >= 0 {
		recorder.Set(s.latency, float64(latency))
	}
	recorder.Set(s.number, float64(tick.StartUS/batch.StepUS&0x7fffffff))
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
		recorder.Delta(s.cpu, uint64(usage.Utime.Nano()/1000+usage.Stime.Nano()/1000))
	}
	if text, ok := s.statm.Read(s.buffer[:]); ok {
		if pages, ok := procfs.ParseResidentPages(text); ok {
			recorder.Set(s.rss, float64(pages)*s.pageBytes)
		}
	}
}

func (s *self) Close() error {
	s.statm.Close()
	return nil
}
