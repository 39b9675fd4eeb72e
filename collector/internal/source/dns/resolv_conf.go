package dns

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnsservers"
	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procroot"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("resolv_conf", func() sampler.Source { return &resolvConf{now: time.Now} }, "process")
}

const (
	resolvAgain  = time.Second // a young container might still lack its network and files; then after 2, 4, 8 … seconds
	resolvMost   = 64 * time.Second
	resolvAtOnce = 32              // cgroups per round of discovery
	resolvCheck  = 5 * time.Second // how often a known file is checked: a replaced or changed one is read at once
	resolvChecks = 64              // of those per round
	maxAddresses = 32
	resolvPath   = "/etc/resolv.conf"
)

// resolvConf records how containers resolve names, and from which addresses they send queries. It samples nothing on
// the grid.
type resolvConf struct {
	registry *sampler.Registry
	watcher  *procwatch.Watcher
	host     dnsservers.ResolvConf // the node's own
	hostNS   uint64
	now      func() time.Time

	mu     sync.Mutex
	groups map[string]*resolvingGroup
}

type resolvingGroup struct {
	group    *sampler.Group
	due      time.Time
	interval time.Duration
	file     *resolvFile // that its facts were read from; nil: none were
	checked  time.Time
}

// resolvFile is a resolv.conf as it was when it was read.
type resolvFile struct {
	pid  int
	info os.FileInfo
}

// changed reports whether the process has another file by now. If the process has ended, the next look finds another
// one.
func (f *resolvFile) changed(proc string) bool {
	info, err := procroot.Stat(proc, f.pid, resolvPath)
	return err == nil && (!os.SameFile(info, f.info) || info.Size() != f.info.Size() || !info.ModTime().Equal(f.info.ModTime()))
}

func (r *resolvConf) Name() string { return "resolv_conf" }

func (r *resolvConf) Start(_ context.Context, registry *sampler.Registry) error {
	r.registry, r.watcher, r.groups = registry, procwatch.Shared(registry), make(map[string]*resolvingGroup)
	var err error
	if r.hostNS, err = netns.ID(registry.Roots.Proc, "1"); err != nil {
		r.hostNS, _ = netns.ID(registry.Roots.Proc, "self")
	}
	if r.host, err = dnsservers.ReadResolvConf(registry.Roots.Proc, 1, resolvPath); err != nil {
		r.host, _ = dnsservers.ReadResolvConf(registry.Roots.Proc, os.Getpid(), resolvPath)
	}
	registry.OnCgroups(r.change)
	return nil
}

func (r *resolvConf) change(added, removed []*sampler.Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, group := range removed {
		delete(r.groups, group.Path)
	}
	for _, group := range added {
		r.groups[group.Path] = &resolvingGroup{group: group, interval: resolvAgain}
	}
}

// Discover examines the cgroups that are due, and those whose file changed.
func (r *resolvConf) Discover(ctx context.Context) {
	now := r.now()
	r.mu.Lock()
	var due, known []*resolvingGroup
	for _, g := range r.groups {
		switch {
		case now.After(g.due):
			due = append(due, g)
		case g.file != nil && now.Sub(g.checked) >= resolvCheck:
			known = append(known, g)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(due, func(a, b *resolvingGroup) int { return a.due.Compare(b.due) })
	slices.SortFunc(known, func(a, b *resolvingGroup) int { return a.checked.Compare(b.checked) })
	var changed []*resolvingGroup
	for _, g := range known[:min(len(known), resolvChecks)] {
		g.checked = now
		if g.file.changed(r.registry.Roots.Proc) {
			changed = append(changed, g)
		}
	}
	due = append(changed, due...)
	watched := make(map[string]bool)
	for _, process := range r.watcher.Processes() {
		watched[process.Cgroup] = true
	}
	for _, g := range due[:min(len(due), resolvAtOnce)] {
		if ctx.Err() != nil {
			return
		}
		g.due = now.Add(g.interval)
		g.interval, g.checked = min(2*g.interval, resolvMost), now
		g.file = r.look(g.group, watched[g.group.Path])
	}
}

// look records the facts of a cgroup if it is a container, or if its processes resolve names differently from the node,
// or if it is watched anyway. For the node's other services there is nothing to record: the node's resolv.conf applies
// to them. It returns the file from which the facts were read.
func (r *resolvConf) look(group *sampler.Group, watched bool) *resolvFile {
	proc := r.registry.Roots.Proc
	for _, pid := range group.Processes() {
		info, err := procroot.Stat(proc, pid, resolvPath) // before it is read, so that a later change is seen
		if err != nil {
			continue // another process might still exist, or have one
		}
		conf, err := dnsservers.ReadResolvConf(proc, pid, resolvPath)
		if err != nil {
			continue
		}
		namespace, err := netns.ID(proc, strconv.Itoa(pid))
		if err != nil {
			continue
		}
		container := names.Identify(group.Path).ContainerID != ""
		own := namespace != r.hostNS
		if !container && !own && !watched && reflect.DeepEqual(conf, r.host) {
			return nil
		}
		r.fact(group, "dns.resolv_conf", conf)
		if own {
			if addresses := addressesOf(proc, pid); len(addresses) > 0 {
				r.fact(group, "net.addresses", addresses)
			}
		}
		return &resolvFile{pid, info}
	}
	return nil
}

func (r *resolvConf) fact(group *sampler.Group, name string, value any) {
	if text, err := json.Marshal(value); err == nil {
		r.registry.Fact(group.Resource, name, string(text))
	}
}

// addressesOf lists the addresses of a process's network namespace, without loopback and link-local ones.
func addressesOf(proc string, pid int) (list []string) {
	local, err := netsock.Local(proc, pid)
	if err != nil {
		return nil
	}
	for raw := range local {
		address := netip.AddrFrom16(raw).Unmap()
		if !address.IsLoopback() && !address.IsLinkLocalUnicast() && !address.IsMulticast() {
			list = append(list, address.String())
		}
	}
	slices.Sort(list)
	return list[:min(len(list), maxAddresses)]
}

func (r *resolvConf) Sample(sampler.Tick, *sampler.Recorder) {}

func (r *resolvConf) Close() error { return nil }
