package requests

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/clusterips"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/requests"
)

const (
	maxCallers     = 8192 // processes, as many as the programs can distinguish
	upstreamsEach  = 16   // per cgroup
	upstreamIdle   = 10 * time.Minute
	pidsPerReading = 16 * 1024
)

// upstream is a server that a cgroup calls.
type upstream struct {
	*requests.Upstream
	requests.Called
	cgroup   string
	resource batch.ResourceID
	service  string // the Kubernetes Service with its address, NAMESPACE/NAME
}

// upstreams is the slow path of the calls that servers make: whose calls are wanted, and which server is behind an
// address.
type upstreams struct {
	numbers  map[string]uint32 // of cgroups
	cgroups  map[uint32]string
	last     uint32
	followed map[requests.Remote]*upstream
	behind   map[requests.Endpoint]key // the listeners
	more     int                       // upstreams without series
	scanned  bool                      // connections that predate the programs are followed
	failed   error
}

func newUpstreams() upstreams {
	return upstreams{
		numbers: make(map[string]uint32), cgroups: make(map[uint32]string), followed: make(map[requests.Remote]*upstream),
	}
}

// followCallers starts timing the calls of all processes in cgroups with a server that receives requests. Called with
// mu held.
func (m *manager) followCallers() {
	u := &m.upstreams
	wanted := make(map[string]bool)
	for _, s := range m.servers {
		if s.resource != batch.NoResource {
			wanted[s.cgroup] = true
		}
	}
	callers := make(map[uint32]uint32)
	for cgroup := range wanted {
		group, ok := m.registry.Cgroup(cgroup)
		if !ok {
			continue
		}
		number, known := u.numbers[cgroup]
		if !known {
			u.last++
			number = u.last
			u.numbers[cgroup], u.cgroups[number] = number, cgroup
		}
		directory := cmp.Or(group.CPU, group.CPUAcct, group.Memory, group.Pids)
		for _, pid := range processesIn(directory) {
			if len(callers) < maxCallers && int(pid) != os.Getpid() {
				callers[pid] = number
			}
		}
	}
	u.failed = m.tracker.SetCallers(callers)
	if !u.scanned {
		u.scanned = true
		if err := m.tracker.FollowConnections(); err != nil {
			m.registry.Log.Warn("existing connections are not timed", "error", err)
		}
	}
	for _, one := range u.followed {
		if !wanted[one.cgroup] || m.tracker.Idle(one.Upstream) > upstreamIdle {
			m.unfollow(one)
			continue
		}
		m.describeUpstream(one)
	}
	for number, cgroup := range u.cgroups {
		if !wanted[cgroup] {
			delete(u.numbers, cgroup)
			delete(u.cgroups, number)
		}
	}
	u.more = 0
}

// admitUpstreams gives series to upstreams that were called for the first time.
func (m *manager) admitUpstreams() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, called := range m.tracker.Unknown() {
		m.follow(called)
	}
}

// follow gives an upstream series. Called with mu held.
func (m *manager) follow(called requests.Called) {
	u := &m.upstreams
	cgroup, ok := u.cgroups[called.Caller]
	if !ok || u.followed[called.Remote] != nil {
		return
	}
	group, ok := m.registry.Cgroup(cgroup)
	if !ok {
		return
	}
	each := 0
	for _, one := range u.followed {
		if one.cgroup == cgroup {
			each++
		}
	}
	if each >= upstreamsEach || len(u.followed) >= requests.MaxUpstreams {
		u.more++
		return
	}
	address := netip.AddrPortFrom(netip.AddrFrom16(called.Address).Unmap(), called.Port)
	resource := m.registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_TCP_UPSTREAM, cgroup+">"+address.String(), group.Resource)
	if resource == batch.NoResource {
		return
	}
	followed := m.tracker.Follow(called.Remote, resource, m.registry.Series)
	if followed == nil {
		m.registry.Remove(resource)
		u.more++
		return
	}
	one := &upstream{followed, called, cgroup, resource, ""}
	u.followed[called.Remote] = one
	m.describeUpstream(one)
}

// describeUpstream records which server listens there, and which Service the address belongs to. Called with mu held.
func (m *manager) describeUpstream(one *upstream) {
	if one.moved(m.services) {
		m.registry.Fact(one.resource, catalogue.FactUpstreamService, one.service)
	}
	if server, ok := m.upstreams.serverAt(one.Called, one.service != ""); ok {
		m.registry.Fact(one.resource, catalogue.FactUpstreamServer, server.String())
	}
}

// moved updates the Service that has the upstream's address, and reports whether it is another one than before.
func (o *upstream) moved(services *clusterips.Directory) bool {
	service, known := services.At(netip.AddrFrom16(o.Address).Unmap())
	if !known || service == o.service {
		return false
	}
	o.service = service
	return true
}

// serverAt finds the server that listens at an address, if it is in the caller's network namespace. The address of a
// Service can be one of the node's own (IPVS): whoever listens on any address there does not get what is sent to it.
func (u *upstreams) serverAt(called requests.Called, isService bool) (key, bool) {
	at := requests.Endpoint{Namespace: called.Namespace, Endpoint: called.Endpoint}
	if server, ok := u.behind[at]; ok {
		return server, true
	}
	if isService || !called.Local && !netip.AddrFrom16(called.Address).Unmap().IsLoopback() {
		return key{}, false
	}
	for _, any := range []dnswire.Address{{}, {10: 0xff, 11: 0xff}} {
		at.Address = any
		if server, ok := u.behind[at]; ok {
			return server, true
		}
	}
	return key{}, false
}

// unfollow removes an upstream's series. Called with mu held.
func (m *manager) unfollow(one *upstream) {
	m.tracker.Unfollow(one.Upstream)
	m.registry.Remove(one.resource)
	delete(m.upstreams.followed, one.Remote)
}

// leaveUpstreams drops the upstreams of a cgroup. Called with mu held.
func (m *manager) leaveUpstreams(cgroup string) {
	for _, one := range m.upstreams.followed {
		if one.cgroup == cgroup {
			m.unfollow(one)
		}
	}
}

// processesIn lists processes of a cgroup, as many as one read returns.
func processesIn(directory string) (pids []uint32) {
	file, err := os.Open(filepath.Join(directory, "cgroup.procs"))
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	buffer := make([]byte, pidsPerReading)
	n, _ := file.Read(buffer)
	for line := range strings.Lines(string(buffer[:n])) {
		if !strings.HasSuffix(line, "\n") {
			break // truncated
		}
		if pid, err := strconv.ParseUint(strings.TrimSpace(line), 10, 32); err == nil && pid > 0 {
			pids = append(pids, uint32(pid))
		}
	}
	return pids
}

// untold reports which calls are not timed; "" if all are.
func (u *upstreams) untold() string {
	switch {
	case u.failed != nil:
		return "calls of some servers are not timed: " + u.failed.Error()
	case u.more > 0:
		return fmt.Sprintf("%d upstreams are timed, %d or more others are not", len(u.followed), u.more)
	}
	return ""
}
