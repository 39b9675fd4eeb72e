package requests

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/clusterips"
	"github.com/jitterscope/jitterscope/collector/internal/dnsservers"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/listening"
	"github.com/jitterscope/jitterscope/collector/internal/owing"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/requests"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

const (
	decayEvery  = 10 * time.Second
	placeWithin = 3 * time.Second  // if the cgroup of a server is not found by then, it is shown below the node
	goneAfter   = 30 * time.Second // a server that restarts is the same one
)

// key identifies a server: everything that listens on a port in a cgroup.
type key struct {
	cgroup string
	port   uint16
}

func (k key) String() string { return k.cgroup + ":" + strconv.Itoa(int(k.port)) }

// server is a server and what was found out about it.
type server struct {
	*requests.Server
	key
	found     time.Time
	listened  time.Time // when it was last seen listening
	process   *listening.Process
	addresses []netip.AddrPort
	resource  batch.ResourceID // NoResource: it has not received a request yet, or others are busier
	misplaced bool             // shown below the node because its cgroup was not found
	accepting accepting
	owing     *owing.Server // nil: it has no series
}

// manager is the slow path of tcp_requests: which servers exist, and which of them have series.
type manager struct {
	registry *sampler.Registry
	tracker  *requests.Tracker
	watcher  *procwatch.Watcher
	scanner  *listening.Scanner
	dns      *dnsservers.Scanner
	board    *owing.Board
	services *clusterips.Directory

	mu        sync.Mutex
	servers   map[key]*server
	upstreams upstreams
	timed     int
	decayed   time.Time
	moves     uint64
	epoch     uint64 // of the limits, when the series of throttled periods were chosen
	without   int    // servers that exceed the places
	quieter   int    // servers that received requests and have no series
	failed    error
	limits    *backlogLimits
	blind     bool
	kinds     requests.Kinds // reused
}

func newManager(registry *sampler.Registry, tracker *requests.Tracker) *manager {
	m := &manager{
		registry: registry, tracker: tracker, watcher: procwatch.Shared(registry), scanner: listening.NewScanner(registry.Roots.Proc),
		dns: dnsservers.NewScanner(registry.Roots.Proc), servers: make(map[key]*server), upstreams: newUpstreams(),
		limits: newBacklogLimits(registry.Roots.Proc), board: owing.Shared(registry),
		services: clusterips.Shared(registry),
	}
	registry.OnCgroups(m.cgroupsChanged)
	return m
}

// discover follows the listening servers.
func (m *manager) discover(ctx context.Context) {
	moves := m.registry.CgroupMoves()
	sockets, err := m.scanner.Scan(ctx, moves != m.moves)
	if ctx.Err() != nil {
		return
	}
	m.moves = moves
	known := m.dnsPorts(ctx, sockets)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = err
	m.update(sockets, known)
	now := time.Now()
	decay := now.Sub(m.decayed) > decayEvery
	if decay {
		m.decayed = now
		m.tracker.Decay()
	}
	epoch := m.registry.CgroupEpoch()
	for k, s := range m.servers {
		switch {
		case now.Sub(s.listened) > goneAfter:
			m.drop(k, s)
		case s.misplaced && m.placed(s):
			m.leave(s) // it is timed again, in its place
		case s.resource != batch.NoResource:
			m.describe(s)
			if epoch != m.epoch {
				m.followLimits(s)
			}
		}
	}
	m.epoch = epoch
	m.publish()
	m.followCallers()
	m.state()
}

// dnsServer is a port of a process that dns_capture times.
type dnsServer struct {
	pid  int
	port uint16
}

// dnsPorts are the ports that dns_capture already times.
func (m *manager) dnsPorts(ctx context.Context, sockets []listening.Socket) map[dnsServer]bool {
	m.watcher.Refresh(ctx)
	listens := make(map[int]bool)
	for _, socket := range sockets {
		listens[socket.Process.PID] = true
	}
	processes := slices.DeleteFunc(m.watcher.Processes(), func(p *procwatch.Process) bool { return p.DNS == "" || !listens[p.PID] })
	listeners, err := m.dns.Scan(processes)
	if err != nil {
		m.registry.Log.Debug("sockets of DNS servers", "error", err)
	}
	found := make(map[dnsServer]bool)
	for i := range listeners {
		for _, port := range listeners[i].Ports {
			found[dnsServer{listeners[i].Process.PID, port}] = true
		}
	}
	return found
}

// update applies the current listeners. Called with mu held.
func (m *manager) update(sockets []listening.Socket, dns map[dnsServer]bool) {
	now := time.Now()
	endpoints := make(map[requests.Endpoint]*requests.Server, len(sockets))
	m.upstreams.behind = make(map[requests.Endpoint]key, len(sockets))
	m.without = 0
	for _, s := range m.servers {
		s.addresses = s.addresses[:0]
		s.accepting.begin()
	}
	for _, socket := range sockets {
		if dns[dnsServer{socket.Process.PID, socket.Local.Port}] {
			continue
		}
		k := key{socket.Process.Cgroup, socket.Local.Port}
		s := m.servers[k]
		if s == nil {
			place, err := m.tracker.Add()
			if err != nil {
				m.without++
				continue
			}
			s = &server{Server: place, key: k, found: now, resource: batch.NoResource}
			m.servers[k] = s
		}
		if s.listened != now {
			s.listened, s.process = now, socket.Process
		}
		s.addresses = append(s.addresses, netip.AddrPortFrom(netip.AddrFrom16(socket.Local.Address).Unmap(), socket.Local.Port))
		if fresh := s.accepting.add(socket); fresh > 0 {
			m.tracker.Dropped(s.Server, fresh)
		}
		at := requests.Endpoint{Namespace: socket.Namespace, Endpoint: socket.Local}
		endpoints[at], m.upstreams.behind[at] = s.Server, k
	}
	if err := m.tracker.SetEndpoints(endpoints); err != nil {
		m.failed = err
	}
}

// admit gives series to servers that received their first request.
func (m *manager) admit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	quieter, timed := 0, m.timed
	for _, s := range m.servers {
		ever, recent := m.tracker.Asked(s.Server)
		if s.resource != batch.NoResource || !ever {
			continue
		}
		if m.timed >= requests.MaxTimed && !m.makeRoom(recent) {
			quieter++
			continue
		}
		m.time(s)
	}
	m.quieter = quieter
	if m.timed > timed {
		m.publish()
		m.followCallers()
	}
}

// makeRoom takes the series of a server with less than half as many requests. Called with mu held.
func (m *manager) makeRoom(recent uint64) bool {
	var quietest *server
	least := recent / 2
	for _, s := range m.servers {
		if s.resource == batch.NoResource {
			continue
		}
		if _, its := m.tracker.Asked(s.Server); its < least {
			quietest, least = s, its
		}
	}
	if quietest == nil {
		return false
	}
	m.leave(quietest)
	return true
}

// time gives a server series. Called with mu held.
func (m *manager) time(s *server) {
	parent, misplaced := batch.Node, false
	if group, ok := m.registry.Cgroup(s.cgroup); ok {
		parent = group.Resource
	} else if s.cgroup != "/" {
		if time.Since(s.found) < placeWithin {
			return // not discovered yet
		}
		misplaced = true
	}
	resource := m.registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_TCP_SERVER, s.String(), parent)
	if resource == batch.NoResource {
		return
	}
	s.resource, s.misplaced = resource, misplaced
	m.timed++
	m.tracker.Time(s.Server, resource, m.registry.Series)
	m.followLimits(s)
	m.describe(s)
}

// placed says whether the cgroup of a server is known. Called with mu held.
func (m *manager) placed(s *server) bool {
	_, ok := m.registry.Cgroup(s.cgroup)
	return ok
}

// followLimits sets the series that show that the server is throttled. Called with mu held.
func (m *manager) followLimits(s *server) {
	m.tracker.SetThrottled(s.Server, m.registry.ThrottledSeries(s.cgroup))
}

// leave removes its series. Called with mu held.
func (m *manager) leave(s *server) {
	if s.resource == batch.NoResource {
		return
	}
	m.tracker.Leave(s.Server)
	m.registry.Remove(s.resource)
	s.resource, s.owing, s.misplaced = batch.NoResource, nil, false
	m.timed--
}

// publish lists the servers with series for whoever wants to know which are silent. Called with mu held.
func (m *manager) publish() {
	var servers []*owing.Server
	for _, s := range m.servers {
		if s.resource == batch.NoResource {
			continue
		}
		if s.owing == nil || s.owing.PID != s.process.PID {
			s.owing = &owing.Server{Resource: s.resource, PID: s.process.PID, Debt: m.tracker.Debt(s.Server)}
		}
		servers = append(servers, s.owing)
	}
	slices.SortFunc(servers, func(a, b *owing.Server) int { return cmp.Compare(a.Resource, b.Resource) })
	m.board.Set("tcp_requests", servers)
}

// drop forgets a server. Called with mu held.
func (m *manager) drop(k key, s *server) {
	m.leave(s)
	m.tracker.Remove(s.Server)
	delete(m.servers, k)
}

// describe records facts. Called with mu held.
func (m *manager) describe(s *server) {
	m.registry.Fact(s.resource, catalogue.FactTcpProgram, s.process.Executable)
	m.registry.Fact(s.resource, catalogue.FactTcpProcess, fmt.Sprintf("%d:%d", s.process.PID, s.process.StartTicks))
	if len(s.addresses) == 0 {
		return // it no longer listens
	}
	m.describeQueue(s)
	addresses := make([]string, 0, len(s.addresses))
	for _, address := range s.addresses {
		addresses = append(addresses, address.String())
	}
	slices.Sort(addresses)
	if text, err := json.Marshal(slices.Compact(addresses)); err == nil {
		m.registry.Fact(s.resource, catalogue.FactTcpAddresses, string(text))
	}
}

// cgroupsChanged drops servers before the resource of their cgroup is released.
func (m *manager) cgroupsChanged(_, removed []*sampler.Group) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, group := range removed {
		for k, s := range m.servers {
			if k.cgroup == group.Path {
				m.drop(k, s)
			}
		}
		m.leaveUpstreams(group.Path)
	}
	m.publish()
}

// state reports what is not timed. Called with mu held.
func (m *manager) state() {
	switch {
	case m.failed != nil:
		m.registry.Degraded("some listening programs cannot be identified: "+m.failed.Error(), listening.Needs)
	case m.without > 0:
		m.registry.Degraded(fmt.Sprintf("%d listening sockets beyond the first %d servers are not watched", m.without, requests.Places), "")
	case m.quieter > 0:
		m.registry.Degraded(fmt.Sprintf("the %d busiest servers are timed, %d others are not", m.timed, m.quieter), "")
	case m.blind:
		m.registry.Degraded("eBPF programs cannot read packets: neither statuses nor kinds of requests are known", "Linux 6.12")
	default:
		m.registry.Degraded(m.upstreams.untold(), "")
	}
}
