package dns

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cputime"
	"github.com/jitterscope/jitterscope/collector/internal/dnsservers"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sockdiag"
)

const (
	settingsEvery  = 10 * time.Second // configuration files rarely change
	ownersEvery    = time.Second
	ownersSlow     = 2 * time.Millisecond // finding the owners of sockets takes more CPU time: a process with thousands
	ownersSeldom   = 10 * time.Second
	refusedAgainIn = 30 * time.Second
)

// refusedNamespace is a namespace that could not be entered.
type refusedNamespace struct {
	err error
	at  time.Time
}

// tcpOwners is when the owners of an asker's sockets were last looked up.
type tcpOwners struct {
	due      time.Time
	settings time.Time
}

// Discover follows the servers, their namespaces and their upstreams.
func (d *dnsTCP) Discover(context.Context) {
	byNamespace := make(map[uint64][]*dnsServer)
	for _, server := range *d.shared.servers.Load() {
		inode := server.process.NetworkNS
		byNamespace[inode] = append(byNamespace[inode], server)
	}
	var kept, gone []*tcpNamespace
	for _, ns := range d.namespaces {
		if servers := byNamespace[ns.inode]; len(servers) > 0 {
			kept = append(kept, ns)
			d.update(ns, servers)
			delete(byNamespace, ns.inode)
		} else {
			gone = append(gone, ns)
		}
	}
	for inode, servers := range byNamespace {
		if ns := d.open(inode, servers, len(kept)); ns != nil {
			kept = append(kept, ns)
		}
	}
	if len(kept) != len(d.namespaces) || len(gone) > 0 {
		d.registry.Between(func() { d.namespaces = kept })
	}
	for _, ns := range gone {
		_ = ns.close()
	}
	d.state(byNamespace)
	for _, ns := range kept {
		for _, asker := range ns.askers {
			d.lookUpOwners(asker)
		}
	}
}

// open starts sampling a namespace; it returns nil if that is not possible now.
func (d *dnsTCP) open(inode uint64, servers []*dnsServer, already int) *tcpNamespace {
	if refused, ok := d.refused[inode]; ok && time.Since(refused.at) < refusedAgainIn {
		return nil
	}
	delete(d.refused, inode)
	process := servers[0].process
	if already > maxNamespaces {
		d.refused[inode] = refusedNamespace{fmt.Errorf("more than %d namespaces", maxNamespaces), time.Now()}
		return nil
	}
	diag, err := sockdiag.OpenIn(d.registry.Roots.Proc, process.PID, process.NetworkNS, d.own)
	if err != nil {
		d.refused[inode] = refusedNamespace{err, time.Now()}
		return nil
	}
	ns := &tcpNamespace{inode: inode, diag: diag, listening: sockdiag.Listening()}
	ns.onListening, ns.onConnection = ns.listeningSocket, ns.connection // once: a method value allocates
	ns.netstat = procfs.HoldIfExists(filepath.Join(d.registry.Roots.Proc, strconv.Itoa(process.PID), "net/netstat"))
	d.update(ns, servers)
	return ns
}

// state reports what cannot be seen.
func (d *dnsTCP) state(wanted map[uint64][]*dnsServer) {
	for inode := range d.refused {
		if _, still := wanted[inode]; !still {
			delete(d.refused, inode)
		}
	}
	for _, refused := range d.refused {
		d.registry.Degraded(fmt.Sprintf("TCP sockets in %d network namespaces are not visible: %v", len(d.refused), refused.err), netns.Needs)
		return
	}
	d.registry.Degraded("", "")
}

// update follows the servers of a namespace and the relevant ports.
func (d *dnsTCP) update(ns *tcpNamespace, servers []*dnsServer) {
	fresh := make([]*tcpServer, 0, len(servers))
	for _, server := range servers {
		known := slices.IndexFunc(ns.servers, func(s *tcpServer) bool { return s.server == server })
		if known >= 0 {
			fresh = append(fresh, ns.servers[known])
		} else {
			fresh = append(fresh, newTCPServer(d.registry, server))
		}
	}
	askers := d.askersOf(ns, servers)
	var local, remote []uint16
	for _, server := range servers {
		local = append(local, server.Key.Port)
	}
	for _, asker := range askers {
		if len(asker.upstreams) == 0 {
			remote = append(remote, dnsservers.Port, dnsservers.TLSPort)
		}
		for _, upstream := range asker.upstreams {
			remote = append(remote, upstream.Port)
		}
	}
	local, remote = distinct(local), distinct(remote)
	same := slices.Equal(fresh, ns.servers) && slices.Equal(askers, ns.askers)
	if same && slices.Equal(local, ns.local) && slices.Equal(remote, ns.remote) {
		return
	}
	query := sockdiag.Connections(local, remote)
	d.registry.Between(func() {
		ns.servers, ns.askers, ns.connections, ns.local, ns.remote = fresh, askers, query, local, remote
	})
}

func distinct(ports []uint16) []uint16 {
	slices.Sort(ports)
	return slices.Compact(ports)
}

// askersOf returns the processes of the servers. One whose settings or addresses changed counts as a new one.
func (d *dnsTCP) askersOf(ns *tcpNamespace, servers []*dnsServer) (askers []*tcpAsker) {
	byProcess := make(map[*procwatch.Process][]*dnsServer)
	var order []*procwatch.Process
	for _, server := range servers {
		if byProcess[server.process] == nil {
			order = append(order, server.process)
		}
		byProcess[server.process] = append(byProcess[server.process], server)
	}
	for _, process := range order {
		var old *tcpAsker
		if i := slices.IndexFunc(ns.askers, func(a *tcpAsker) bool { return a.process == process }); i >= 0 {
			old = ns.askers[i]
		}
		slots := make([]askerSlots, 0, len(byProcess[process]))
		for _, server := range byProcess[process] {
			slots = append(slots, askerSlots{
				connections: d.registry.Series(server.Resource(), catalogue.DNSUpstreamConnections),
				idle:        d.registry.Series(server.Resource(), catalogue.DNSUpstreamIdle),
			})
		}
		if old != nil && time.Since(old.owners.settings) < settingsEvery && slices.Equal(old.slots, slots) {
			askers = append(askers, old)
			continue
		}
		upstreams := d.upstreamsOf(byProcess[process])
		if old != nil {
			old.owners.settings = time.Now()
			if slices.Equal(old.upstreams, upstreams) && slices.Equal(old.slots, slots) {
				askers = append(askers, old)
				continue
			}
		}
		askers = append(askers, &tcpAsker{process: process, upstreams: upstreams, slots: slots, owners: tcpOwners{settings: time.Now()}})
	}
	return askers
}

// upstreamsOf reads the upstreams of a process; empty if its settings do not tell.
func (d *dnsTCP) upstreamsOf(servers []*dnsServer) (list []dnswire.Endpoint) {
	for _, server := range servers {
		settings := dnsservers.ReadSettings(d.registry.Roots.Proc, server.process, server.Key.Port)
		for _, upstream := range settings.Upstreams {
			address, err := netip.ParseAddr(upstream.Address)
			endpoint := dnswire.Endpoint{Address: address.As16(), Port: upstream.Port}
			if err == nil && !slices.Contains(list, endpoint) {
				list = append(list, endpoint)
			}
		}
	}
	return list
}

// lookUpOwners finds out which of the counted connections belong to another process that queries the same server.
func (d *dnsTCP) lookUpOwners(asker *tcpAsker) {
	if time.Now().Before(asker.owners.due) {
		return
	}
	var seen []uint32
	d.registry.Between(func() { seen = slices.Clone(asker.seen[:asker.seenCount]) })
	if len(seen) == 0 {
		return
	}
	started := time.Now()
	var held map[uint64]struct{}
	var err error
	cost := cputime.Of(func() { held, err = d.heldBy(asker.process.PID) })
	asker.owners.due = started.Add(ownersEvery)
	if cost > ownersSlow {
		asker.owners.due = started.Add(ownersSeldom)
	}
	if err != nil {
		return
	}
	foreign := slices.DeleteFunc(seen, func(inode uint32) bool {
		_, ours := held[uint64(inode)]
		return ours
	})
	slices.Sort(foreign)
	d.registry.Between(func() { asker.foreign = foreign })
}

// heldBy returns the sockets of a process and of its children, which dnsmasq uses for queries.
func (d *dnsTCP) heldBy(pid int) (map[uint64]struct{}, error) {
	held, err := netsock.Inodes(d.registry.Roots.Proc, pid)
	if err != nil {
		return nil, err
	}
	for _, child := range procfs.Children(d.registry.Roots.Proc, pid) {
		more, err := netsock.Inodes(d.registry.Roots.Proc, child)
		if err != nil {
			continue // it ended
		}
		for inode := range more {
			held[inode] = struct{}{}
		}
	}
	return held, nil
}
