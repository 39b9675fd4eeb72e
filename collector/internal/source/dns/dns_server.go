package dns

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/dnsservers"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/owing"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

// add starts watching an address of a server. Called with mu held.
func (m *dnsManager) add(key dnscapture.ServerKey, listener *dnsservers.Listener) {
	if m.tracker.Known(key) {
		return
	}
	process := listener.Process
	name := m.serverName(key, process)
	resource := m.registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_DNS_SERVER, name, process.Resource)
	other := m.registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_DNS_PATH, "other>"+name, resource)
	server := dnscapture.NewServer(key, resource, other, m.subject(process, resource), time.Now().UnixNano(), m.registry.Series)
	server.Throttled = m.registry.ThrottledSeries(process.Cgroup)
	if err := m.tracker.Add(server); err != nil {
		if errors.Is(err, dnscapture.ErrFull) {
			m.tracker.Ignore(key)
		}
		return
	}
	watched := &dnsServer{
		Server: server, process: process, owing: &owing.Server{Resource: resource, PID: process.PID, Debt: server.Debt()},
	}
	sockets := listener.Sockets(key.Endpoint)
	watched.sockets.Store(&sockets)
	m.servers = append(m.servers, watched)
	m.publish()
	m.describe(watched)
}

// serverName is the resource key. It distinguishes the loopback addresses of a container's namespace from the host's.
func (m *dnsManager) serverName(key dnscapture.ServerKey, process *procwatch.Process) string {
	address := netip.AddrFrom16(key.Address).Unmap()
	name := netip.AddrPortFrom(address, key.Port).String()
	if key.Capture != 0 && address.IsLoopback() {
		name += fmt.Sprintf("@net:%d", process.NetworkNS)
	}
	return name
}

// subject is what a trigger asks to diagnose.
func (m *dnsManager) subject(process *procwatch.Process, server batch.ResourceID) batch.ResourceID {
	if group, ok := m.registry.Cgroup(process.Cgroup); ok {
		return group.Resource
	}
	return server
}

// refresh updates what changes while a server runs. Called with mu held.
func (m *dnsManager) refresh(server *dnsServer, decay bool) {
	if slots := m.registry.ThrottledSeries(server.process.Cgroup); !slices.Equal(slots, server.Throttled) {
		m.registry.Between(func() { server.Throttled = slots })
	}
	if listener := m.listenerOf(server.Key); listener != nil {
		sockets := listener.Sockets(server.Key.Endpoint)
		server.sockets.Store(&sockets)
	}
	m.registry.Fact(server.Resource(), "dns.path_split", *m.shared.splitState.Load())
	if decay {
		m.tracker.Decay(server.Server)
		m.describe(server)
	}
}

// describe records facts.
func (m *dnsManager) describe(server *dnsServer) {
	resource, process := server.Resource(), server.process
	m.registry.Fact(resource, "dns.software", process.DNS)
	if process.Go != nil {
		if _, version, ok := strings.Cut(process.Go.MainModule, "@v"); ok {
			m.registry.Fact(resource, "dns.version", version)
		}
	}
	if addresses, known := m.services.To(process.Cgroup); known {
		if text, err := json.Marshal(addresses); err == nil {
			m.registry.Fact(resource, catalogue.FactDNSServiceAddresses, string(text))
		}
	}
	if process.DNS == "coredns" || process.DNS == "node-cache" {
		m.describeCorefile(server)
	}
}

// describeCorefile records the Corefile as a fact. The reason why it cannot be parsed is logged once.
func (m *dnsManager) describeCorefile(server *dnsServer) {
	process := server.process
	text, parsed, err := dnsservers.ReadCorefile(m.registry.Roots.Proc, process.PID)
	if text != "" {
		m.registry.Fact(server.Resource(), catalogue.FactDNSCorefile, text)
	}
	if parsed != "" {
		m.registry.Fact(server.Resource(), catalogue.FactDNSCorefileParsed, parsed)
	}
	switch {
	case err == nil:
		delete(m.unparsed, process)
	case text != "" && m.unparsed[process] != err.Error():
		m.unparsed[process] = err.Error()
		m.registry.Log.Warn("a Corefile cannot be parsed", "pid", process.PID, "command", process.Command, "error", err)
	}
}

// promote gives the busiest clients their own paths. Called with mu held.
func (m *dnsManager) promote(server *dnsServer) {
	for range dnscapture.MaxPaths {
		change, ok := m.tracker.Promote(server.Server)
		if !ok {
			return
		}
		key := dnscapture.Text(change.Client) + ">" + m.serverName(server.Key, server.process)
		resource := m.registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_DNS_PATH, key, server.Resource())
		counted := dnscapture.NewCounted(resource, m.registry.Series)
		if old := m.tracker.SetPath(server.Server, change, counted); old != batch.NoResource {
			m.registry.Remove(old)
		}
	}
}
