package dns

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnsmasq"
	"github.com/jitterscope/jitterscope/collector/internal/dnsservers"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("dnsmasq_counters", func() sampler.Source { return &dnsmasqCounters{} }, "dns_capture")
}

const (
	dnsmasqEvery  = 10 * time.Second
	dnsmasqSeldom = 10 * time.Minute // if it does not answer such questions
	dnsmasqTries  = 3
)

// dnsmasqCounters queries each dnsmasq on this machine for its cache statistics and its version. The increase since the
// last answer is recorded in the tick in which it arrived, for one address of the process.
type dnsmasqCounters struct {
	registry *sampler.Registry
	shared   *dnsShared
	own      uint64 // inode of the collector's network namespace
	asking   sync.WaitGroup

	mu      sync.Mutex
	watched map[*procwatch.Process]*dnsmasqProcess
}

// dnsmasqProcess is one dnsmasq. Everything not marked belongs to the loop.
type dnsmasqProcess struct {
	process *procwatch.Process
	server  *dnsServer // whose address is queried and for which the counters are recorded
	client  *dnsmasq.Client
	due     time.Time
	failed  int
	known   bool
	last    dnsmasq.Counters

	fresh             bool // not recorded yet; guarded by dnsmasqCounters.mu, as are those below
	hits, misses      float64
	hitSlot, missSlot batch.Slot
}

func (d *dnsmasqCounters) Name() string { return "dnsmasq_counters" }

func (d *dnsmasqCounters) Start(ctx context.Context, registry *sampler.Registry) error {
	d.registry, d.shared, d.watched = registry, sharedDNS(registry), make(map[*procwatch.Process]*dnsmasqProcess)
	if d.shared.noPackets != nil {
		return d.shared.noPackets // without packets the servers are not found
	}
	d.own, _ = netns.ID(registry.Roots.Proc, "self")
	d.asking.Go(func() { d.loop(ctx) })
	return nil
}

// loop queries one after another, off the sampling thread: a server that hangs delays only other dnsmasq servers.
func (d *dnsmasqCounters) loop(ctx context.Context) {
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		for _, p := range d.follow() {
			if ctx.Err() == nil && time.Now().After(p.due) {
				d.visit(p)
			}
		}
		select {
		case <-ctx.Done():
			for _, p := range d.watched {
				p.disconnect()
			}
			return
		case <-ticker.C:
		}
	}
}

// follow finds the processes to query.
func (d *dnsmasqCounters) follow() (list []*dnsmasqProcess) {
	present := make(map[*procwatch.Process]bool)
	for _, server := range *d.shared.servers.Load() {
		if server.process.DNS == "dnsmasq" {
			present[server.process] = true
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for process, p := range d.watched {
		if !present[process] {
			p.disconnect()
			delete(d.watched, process)
		}
	}
	for process := range present {
		if d.watched[process] == nil {
			d.watched[process] = &dnsmasqProcess{process: process}
		}
		list = append(list, d.watched[process])
	}
	return list
}

func (d *dnsmasqCounters) visit(p *dnsmasqProcess) {
	server := d.shared.mainServer(p.process)
	if server == nil {
		return
	}
	p.due = time.Now().Add(dnsmasqEvery)
	if dnsservers.ReadSettings(d.registry.Roots.Proc, p.process, server.Key.Port).NoIdent {
		p.due = time.Now().Add(dnsmasqSeldom)
		return
	}
	if server != p.server {
		p.disconnect()
		p.server = server
	}
	counters, err := d.ask(p)
	if err != nil {
		p.disconnect()
		p.known = false // it can be another one by the time it answers
		if p.failed++; p.failed >= dnsmasqTries || errors.Is(err, dnsmasq.ErrNoAnswer) {
			p.failed, p.due = 0, time.Now().Add(dnsmasqSeldom)
			d.registry.Log.Debug("a dnsmasq does not report its counters", "pid", p.process.PID, "error", err)
		}
		return
	}
	p.failed = 0
	if p.known && counters.Hits >= p.last.Hits && counters.Misses >= p.last.Misses {
		hits := counters.Hits - p.last.Hits
		d.count(p, float64(hits-min(hits, dnsmasq.Questions)), float64(counters.Misses-p.last.Misses))
	}
	p.last, p.known = counters, true
}

// ask connects if necessary, which is also when it asks for the version.
func (d *dnsmasqCounters) ask(p *dnsmasqProcess) (counters dnsmasq.Counters, err error) {
	if p.client == nil {
		address := netip.AddrPortFrom(netip.AddrFrom16(p.server.Key.Address).Unmap(), p.server.Key.Port)
		if p.client, err = dnsmasq.Connect(d.registry.Roots.Proc, p.process, address, d.own); err != nil {
			return counters, err
		}
		version, err := p.client.Version()
		if err != nil && !errors.Is(err, dnsmasq.ErrNoVersion) {
			return counters, err
		}
		for _, server := range *d.shared.servers.Load() {
			if server.process == p.process && err == nil {
				d.registry.Fact(server.Resource(), "dns.version", version)
			}
		}
	}
	return p.client.Counters()
}

// count records the increase for the next tick.
func (d *dnsmasqCounters) count(p *dnsmasqProcess, hits, misses float64) {
	hitSlot := d.registry.Series(p.server.Resource(), catalogue.DnsmasqCacheHits)
	missSlot := d.registry.Series(p.server.Resource(), catalogue.DnsmasqCacheMisses)
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.fresh { // no tick was sampled in between
		hits, misses = hits+p.hits, misses+p.misses
	}
	p.fresh, p.hits, p.misses, p.hitSlot, p.missSlot = true, hits, misses, hitSlot, missSlot
}

func (d *dnsmasqCounters) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	if !d.mu.TryLock() {
		return // being written: wait for the next tick
	}
	defer d.mu.Unlock()
	for _, p := range d.watched {
		if p.fresh {
			p.fresh = false
			recorder.Set(p.hitSlot, p.hits)
			recorder.Set(p.missSlot, p.misses)
		}
	}
}

func (p *dnsmasqProcess) disconnect() {
	if p.client != nil {
		_ = p.client.Close()
		p.client = nil
	}
}

func (d *dnsmasqCounters) Close() error {
	d.asking.Wait()
	return nil
}
