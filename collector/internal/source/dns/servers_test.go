package dns

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// serverKey is the resource key of oneServer.
const serverKey = "127.0.0.1:53"

// oneServer replaces dns_capture, which finds servers by their packets: there is one, of a process that the test fakes.
type oneServer struct {
	process procwatch.Process
	address string // serverKey if empty
	sockets []netsock.Socket

	registry *sampler.Registry
	server   *dnsServer
}

func (o *oneServer) Name() string { return "dns_capture" }

func (o *oneServer) Start(_ context.Context, registry *sampler.Registry) error {
	if o.address == "" {
		o.address = serverKey
	}
	o.registry = registry
	shared := sharedDNS(registry)
	resource := registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_DNS_SERVER, o.address, batch.Node)
	other := registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_DNS_PATH, "other>"+o.address, resource)
	at := netip.MustParseAddrPort(o.address)
	key := dnscapture.ServerKey{Endpoint: dnswire.Endpoint{Address: at.Addr().As16(), Port: at.Port()}}
	o.server = &dnsServer{
		Server: dnscapture.NewServer(key, resource, other, resource, time.Now().UnixNano(), registry.Series), process: &o.process,
	}
	o.server.sockets.Store(&o.sockets)
	if err := shared.tracker.Add(o.server.Server); err != nil {
		return err
	}
	shared.noPackets = nil
	shared.servers.Store(&[]*dnsServer{o.server})
	return nil
}

func (o *oneServer) Sample(sampler.Tick, *sampler.Recorder) {}

func (o *oneServer) Close() error { return nil }

// total adds values up.
func total(values []float64) (sum float64) {
	for _, value := range values {
		sum += value
	}
	return sum
}

// needsNothing fails if a source does not work.
func needsNothing(t *testing.T, status string) {
	t.Helper()
	if status != "ACTIVE" {
		t.Fatal(status)
	}
}
