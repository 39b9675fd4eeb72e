package dns

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/clusterips"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/dnsservers"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/owing"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

const (
	maxNamespaces   = 8 // besides the collector's own
	reconsiderEvery = 30 * time.Second
	decayEvery      = 10 * time.Second
)

// dnsManager is the slow path of dns_capture: which servers exist, where packets are taken, and what the servers are.
type dnsManager struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	scanner  *dnsservers.Scanner
	tracker  *dnscapture.Tracker
	shared   *dnsShared
	board    *owing.Board
	services *clusterips.Directory
	captures *captures
	own      uint64 // inode of the collector's network namespace
	wide     bool   // the host's capture has its full size

	mu         sync.Mutex
	listeners  []dnsservers.Listener
	servers    []*dnsServer
	refused    map[uint64]error              // namespaces that could not be entered
	unparsed   map[*procwatch.Process]string // why a Corefile was rejected, as last reported
	reconsider time.Time
	decayed    time.Time
	drops      uint64 // last value seen by lossy
}

// dnsServer is a server address together with the process behind it.
type dnsServer struct {
	*dnscapture.Server
	process *procwatch.Process
	owing   *owing.Server
	sockets atomic.Pointer[[]netsock.Socket] // UDP sockets that receive packets to the address
}

func newDNSManager(registry *sampler.Registry, tracker *dnscapture.Tracker, shared *dnsShared, captures *captures) *dnsManager {
	own, _ := netns.ID(registry.Roots.Proc, "self")
	m := &dnsManager{
		registry: registry, watcher: procwatch.Shared(registry), tracker: tracker, shared: shared, captures: captures, own: own,
		refused: make(map[uint64]error), unparsed: make(map[*procwatch.Process]string), scanner: dnsservers.NewScanner(registry.Roots.Proc),
		board: owing.Shared(registry), services: clusterips.Shared(registry),
	}
	m.watcher.Subscribe(m.processesChanged)
	return m
}

// discover follows the processes and their sockets.
func (m *dnsManager) discover(ctx context.Context) {
	m.watcher.Refresh(ctx)
	listeners, err := m.scanner.Scan(m.watcher.Processes())
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := slices.ContainsFunc(listeners, func(l dnsservers.Listener) bool { return !m.knows(&l) })
	m.listeners = listeners
	m.widen()
	m.openNamespaces()
	portsErr := m.setPorts()
	m.addBound()
	m.state(err, portsErr)
	now := time.Now()
	if fresh || now.Sub(m.reconsider) > reconsiderEvery { // packets sent before the server was known made its address foreign
		m.reconsider = now
		m.tracker.Reconsider()
	}
	decay := now.Sub(m.decayed) > decayEvery
	if decay {
		m.decayed = now
	}
	for _, server := range m.servers {
		m.refresh(server, decay)
	}
}

// knows reports whether the last discovery found this process with these ports. Called with mu held.
func (m *dnsManager) knows(listener *dnsservers.Listener) bool {
	return slices.ContainsFunc(m.listeners, func(l dnsservers.Listener) bool {
		return l.Process == listener.Process && slices.Equal(l.Ports, listener.Ports)
	})
}

// state reports what cannot be seen.
func (m *dnsManager) state(scan, ports error) {
	detail, needs := "", ""
	switch {
	case scan != nil:
		detail, needs = "sockets of some DNS servers cannot be attributed: "+scan.Error(), "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
	case ports != nil:
		detail = "not all servers are captured: " + ports.Error()
	case len(m.refused) > 0:
		needs = netns.Needs
		for _, err := range m.refused {
			detail = fmt.Sprintf("loopback traffic in %d network namespaces is not captured: %v", len(m.refused), err)
		}
	}
	m.registry.Degraded(detail, needs)
}

// addBound watches the addresses to which servers are bound without waiting for a query. Those behind a wildcard are
// found when packets are sent to them. Called with mu held.
func (m *dnsManager) addBound() {
	for i := range m.listeners {
		l := &m.listeners[i]
		for k := range l.UDP {
			key := dnscapture.ServerKey{Endpoint: l.UDP[k].Local, Capture: m.captureOf(l)}
			if l.Serves(key.Endpoint) && !key.Address.IsWildcard() {
				m.add(key, l)
			}
		}
	}
}

// captureOf returns the number of the capture in which the packets of a server count. Those of a namespace with its own
// capture are seen twice, there and on the host's side. Called with mu held.
func (m *dnsManager) captureOf(listener *dnsservers.Listener) uint8 {
	for _, c := range m.captures.list[1:] {
		if c.namespace == listener.Process.NetworkNS {
			return c.number
		}
	}
	return 0
}

// setPorts gives every capture the ports of all servers. Called with mu held.
func (m *dnsManager) setPorts() error {
	ports := []uint16{dnsservers.Port}
	outside := false // reachable from elsewhere
	for i := range m.listeners {
		outside = outside || !m.listeners[i].LoopbackOnly()
		for _, port := range m.listeners[i].Ports {
			if !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	slices.Sort(ports)
	var err error
	if len(ports) > dnscapture.MaxPorts {
		err = fmt.Errorf("%d ports, at most %d", len(ports), dnscapture.MaxPorts)
		ports = ports[:dnscapture.MaxPorts]
	}
	for _, c := range m.captures.list {
		c.socket.SetOutgoing(outside)
		if failed := c.socket.SetPorts(ports); failed != nil {
			err = failed
		}
	}
	return err
}

// lossy reports whether packets were dropped since the last call.
func (m *dnsManager) lossy() bool {
	_, drops := m.statistics()
	m.mu.Lock()
	defer m.mu.Unlock()
	lost := drops != m.drops
	m.drops = drops
	return lost
}

func (m *dnsManager) statistics() (packets, drops uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.captures.list {
		p, d := c.socket.Statistics()
		packets, drops = packets+p, drops+d
	}
	return packets, drops
}

// candidates decides about addresses that queries were sent to.
func (m *dnsManager) candidates() {
	found := m.tracker.Candidates()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range found {
		if listener := m.listenerOf(key); listener != nil {
			m.add(key, listener)
		} else {
			m.tracker.Ignore(key)
		}
	}
	for _, server := range m.servers {
		m.promote(server)
	}
}

// listenerOf finds the process behind an address. Called with mu held.
func (m *dnsManager) listenerOf(key dnscapture.ServerKey) *dnsservers.Listener {
	for i := range m.listeners {
		if l := &m.listeners[i]; m.captureOf(l) == key.Capture && l.Serves(key.Endpoint) {
			return l
		}
	}
	return nil
}

func (m *dnsManager) processesChanged(_, removed []*procwatch.Process) {
	if len(removed) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners = slices.DeleteFunc(m.listeners, func(l dnsservers.Listener) bool { return slices.Contains(removed, l.Process) })
	for _, process := range removed {
		delete(m.unparsed, process)
	}
	m.dropServers(func(s *dnsServer) bool { return slices.Contains(removed, s.process) })
}

// dropServers forgets servers. Called with mu held.
func (m *dnsManager) dropServers(which func(*dnsServer) bool) {
	var gone []batch.ResourceID
	m.servers = slices.DeleteFunc(slices.Clone(m.servers), func(s *dnsServer) bool {
		if !which(s) {
			return false
		}
		m.tracker.Remove(s.Server)
		gone = append(gone, s.Resources()...)
		return true
	})
	m.publish()
	for _, resource := range gone {
		m.registry.Remove(resource)
	}
}

func (m *dnsManager) publish() {
	servers := slices.Clone(m.servers)
	m.shared.servers.Store(&servers)
	owed := make([]*owing.Server, 0, len(servers))
	for _, server := range servers {
		owed = append(owed, server.owing)
	}
	m.board.Set("dns_capture", owed)
}
