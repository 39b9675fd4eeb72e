package dns

import (
	"context"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnsservers"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("dns_settings", func() sampler.Source { return &dnsSettings{} }, "dns_capture")
}

// dnsSettings records how the DNS servers are configured: their upstreams, how many connections they serve, what they
// cache. It samples nothing on the grid.
type dnsSettings struct {
	registry *sampler.Registry
	shared   *dnsShared
	read     map[*dnsServer]time.Time
}

func (d *dnsSettings) Name() string { return "dns_settings" }

func (d *dnsSettings) Start(_ context.Context, registry *sampler.Registry) error {
	d.registry, d.shared, d.read = registry, sharedDNS(registry), make(map[*dnsServer]time.Time)
	if d.shared.noPackets != nil {
		return d.shared.noPackets // without packets the servers are not found
	}
	return nil
}

// Discover reads the settings of new servers at once and those of all servers again periodically.
func (d *dnsSettings) Discover(ctx context.Context) {
	servers := *d.shared.servers.Load()
	present := make(map[*dnsServer]bool, len(servers))
	for _, server := range servers {
		present[server] = true
		if ctx.Err() == nil && time.Since(d.read[server]) >= settingsEvery {
			d.read[server] = time.Now()
			d.state(server)
		}
	}
	for server := range d.read {
		if !present[server] {
			delete(d.read, server)
		}
	}
}

func (d *dnsSettings) state(server *dnsServer) {
	settings := dnsservers.ReadSettings(d.registry.Roots.Proc, server.process, server.Key.Port)
	if !settings.Known {
		return
	}
	fact := func(name, value string) {
		if value != "" {
			d.registry.Fact(server.Resource(), name, value)
		}
	}
	fact("dns.upstreams", settings.UpstreamsJSON())
	fact("dns.arguments", settings.Arguments)
	fact("dns.negative_cache", settings.NegativeCache)
	if settings.ChildLimit > 0 {
		fact("dns.child_limit", strconv.Itoa(settings.ChildLimit))
	}
}

func (d *dnsSettings) Sample(sampler.Tick, *sampler.Recorder) {}

func (d *dnsSettings) Close() error { return nil }
