package dns

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/dnspath"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// dnsShared is the state that the DNS sources share.
type dnsShared struct {
	tracker *dnscapture.Tracker // dns_capture passes it the packets
	// noPackets is why there are none; set when dns_capture starts, before the others.
	noPackets error
	// split is where reads come from, nil if the kernel does not support it; set by dns_path_split.
	split atomic.Pointer[dnspath.Split]
	// splitState is the value of the fact dns.path_split.
	splitState atomic.Pointer[string]
	// servers is the current list, replaced as a whole by dns_capture.
	servers atomic.Pointer[[]*dnsServer]
}

func sharedDNS(registry *sampler.Registry) *dnsShared {
	return registry.Shared("dns", func() any {
		shared := &dnsShared{tracker: dnscapture.NewTracker(), noPackets: &sampler.Off{Detail: "the source dns_capture is off"}}
		if registry.IsOrdinary() {
			shared.tracker.StayOrdinary()
		}
		shared.servers.Store(&[]*dnsServer{})
		off := "not available: the source dns_path_split is turned off"
		shared.splitState.Store(&off)
		return shared
	}).(*dnsShared)
}

// mainServer is the address at which a process receives most queries, for what belongs to the process and not to one
// address; nil if it has none. An address that is reachable from elsewhere comes before a loopback address.
func (s *dnsShared) mainServer(process *procwatch.Process) *dnsServer {
	var best *dnsServer
	var most uint64
	for _, server := range *s.servers.Load() {
		if server.process != process {
			continue
		}
		queries := s.tracker.Queries(server.Server)
		if best == nil || queries > most || (queries == most && isLoopback(best) && !isLoopback(server)) {
			best, most = server, queries
		}
	}
	return best
}

func isLoopback(server *dnsServer) bool {
	return netip.AddrFrom16(server.Key.Address).Unmap().IsLoopback()
}

// everQueried reports whether a server ever received a query.
func (s *dnsShared) everQueried(server *dnsServer) bool { return s.tracker.Queries(server.Server) > 0 }

// troubled reports whether a server had a slow answer, a timeout or a SERVFAIL within a time.
func (s *dnsShared) troubled(server *dnsServer, within time.Duration) bool {
	since, ever := s.tracker.SinceTrouble(server.Server)
	return ever && since < within
}
