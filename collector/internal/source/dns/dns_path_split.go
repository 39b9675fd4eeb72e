package dns

import (
	"context"
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/dnspath"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("dns_path_split", func() sampler.Source { return &dnsPathSplit{} }, "dns_capture")
}

// dnsPathSplit separates waiting in the socket's queue from processing. It learns from the kernel when queries are
// read; dns_capture, which knows when they arrived and were answered, combines both and records the result.
type dnsPathSplit struct {
	registry *sampler.Registry
	shared   *dnsShared
	split    *dnspath.Split
	ports    []uint16
}

func (d *dnsPathSplit) Name() string { return "dns_path_split" }

func (d *dnsPathSplit) Start(_ context.Context, registry *sampler.Registry) error {
	d.registry, d.shared = registry, sharedDNS(registry)
	split, err := dnspath.Open()
	if err != nil {
		state := "not available: " + bpf.Explain(err) + "; needs " + dnspath.Needs
		d.shared.splitState.Store(&state)
		return &sampler.Unavailable{Detail: bpf.Explain(err), Needs: dnspath.Needs}
	}
	available := "available"
	d.shared.splitState.Store(&available)
	d.split = split
	d.shared.split.Store(split)
	return nil
}

func (d *dnsPathSplit) Discover(context.Context) {
	var ports []uint16
	for _, server := range *d.shared.servers.Load() {
		if !slices.Contains(ports, server.Key.Port) {
			ports = append(ports, server.Key.Port)
		}
	}
	slices.Sort(ports)
	d.split.Tidy()
	if slices.Equal(ports, d.ports) {
		return
	}
	if err := d.split.SetPorts(ports); err != nil {
		d.registry.Degraded("not all servers are covered: "+err.Error(), "")
		return
	}
	d.ports = ports
	d.registry.Degraded("", "")
}

// Sample does nothing: dns_capture drains the split, so that reads are known before the answers that follow them.
func (d *dnsPathSplit) Sample(sampler.Tick, *sampler.Recorder) {}

// EachCounter implements sampler.Counters.
func (d *dnsPathSplit) EachCounter(yield func(name string, value float64)) {
	yield("lost_reads_total", float64(d.split.Lost()))
}

func (d *dnsPathSplit) Close() error {
	d.shared.split.Store(nil)
	return d.split.Close()
}
