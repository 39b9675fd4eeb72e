package dns

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/gometrics"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("coredns_metrics", func() sampler.Source { return &coreDNSMetrics{} }, "dns_capture")
}

const (
	// A page of CoreDNS takes it some milliseconds of CPU. It is read every 5 s; every second while a server that
	// forwards has slow or failed queries, because a pool of connections runs out within seconds; and as rarely, up to
	// every 15 s, as needed so that reading takes no more than 1 % of the time.
	coreDNSEvery  = gometrics.ReadUsual
	coreDNSOften  = gometrics.ReadOften
	coreDNSMost   = gometrics.ReadSeldom
	coreDNSShare  = 100
	troubledSince = 10 * time.Second // after the last slow query
)

// coreDNSMetrics reads the counters of CoreDNS and of programs built from it (node-local-dns) from their metrics pages,
// which are found without configuration. Their increase since the last scrape is recorded in the tick in which they
// were read, for one server address of the process: the counters do not distinguish addresses.
type coreDNSMetrics struct {
	registry *sampler.Registry
	shared   *dnsShared
	pages    *gometrics.Pages

	mu       sync.Mutex
	watched  map[*procwatch.Process]*coreDNSProcess
	recorded []*coreDNSProcess // read by Sample; changed only in Registry.Between
}

func (c *coreDNSMetrics) Name() string { return "coredns_metrics" }

func (c *coreDNSMetrics) Start(ctx context.Context, registry *sampler.Registry) error {
	c.registry, c.shared, c.pages = registry, sharedDNS(registry), gometrics.SharedPages(registry)
	c.watched = make(map[*procwatch.Process]*coreDNSProcess)
	registry.Every(ctx, 250*time.Millisecond, func() { c.visitDue(ctx) })
	return nil
}

// Discover follows the processes behind the DNS servers.
func (c *coreDNSMetrics) Discover(context.Context) {
	present := make(map[*procwatch.Process]bool)
	for _, server := range *c.shared.servers.Load() {
		present[server.process] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := false
	for process := range present {
		if _, known := c.watched[process]; !known && mayBeCoreDNS(process) {
			c.watched[process] = newCoreDNSProcess(process, c.registry.Roots.Proc)
			changed = true
		}
	}
	for process := range c.watched {
		if !present[process] {
			delete(c.watched, process)
			changed = true
		}
	}
	if !changed {
		return
	}
	recorded := make([]*coreDNSProcess, 0, len(c.watched))
	for _, p := range c.watched {
		recorded = append(recorded, p)
	}
	c.registry.Between(func() { c.recorded = recorded })
}

// mayBeCoreDNS avoids requests to programs that cannot have the page.
func mayBeCoreDNS(process *procwatch.Process) bool {
	return process.DNS == "coredns" || process.DNS == "node-cache" || (process.Go != nil && process.Go.ClientGolang != "")
}

// visitDue visits the due pages one after another; a slow one delays only other pages.
func (c *coreDNSMetrics) visitDue(ctx context.Context) {
	c.mu.Lock()
	var due []*coreDNSProcess
	for _, p := range c.watched {
		if time.Now().After(p.due) {
			due = append(due, p)
		}
	}
	c.mu.Unlock()
	for _, p := range due {
		c.visit(ctx, p)
	}
}

func (c *coreDNSMetrics) visit(ctx context.Context, p *coreDNSProcess) {
	sample, took, err := c.pages.Read(ctx, p.process)
	if err != nil || !sample.CoreDNS.Present {
		p.tries++
		p.due = time.Now().Add(min(gometrics.FindFirst<<min(p.tries, 10), gometrics.FindEvery))
		return
	}
	p.tries = 0
	server := c.serverOf(p)
	every := coreDNSEvery
	if sample.CoreDNS.HasForward() && server != nil && c.shared.troubled(server, troubledSince) {
		every = coreDNSOften
	}
	p.due = gometrics.NextReading(time.Now(), min(max(every, (took*coreDNSShare).Truncate(time.Second)), coreDNSMost))
	if server != nil {
		p.count(c.registry, server, &sample)
	}
}

// serverOf chooses the address for which a process's counters are recorded: the one with the most queries when they are
// first read. It is kept while it exists, so that a series does not jump; but not if it never received a query and
// another one does.
func (c *coreDNSMetrics) serverOf(p *coreDNSProcess) *dnsServer {
	if p.server != nil && slices.Contains(*c.shared.servers.Load(), p.server) && c.shared.everQueried(p.server) {
		return p.server
	}
	return c.shared.mainServer(p.process)
}

func (c *coreDNSMetrics) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	for _, p := range c.recorded {
		p.record(recorder)
	}
}

// EachCounter implements sampler.Counters.
func (c *coreDNSMetrics) EachCounter(yield func(name string, value float64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	readings := 0.0
	for _, p := range c.watched {
		readings += float64(p.readings.Load())
	}
	yield("page_readings", readings)
}

func (c *coreDNSMetrics) Close() error { return nil }

// coreDNSValues lists what is recorded, in the order of coreDNSMetricIDs.
func coreDNSValues(c *gometrics.CoreDNS) [len(coreDNSMetricIDs)]float64 {
	return [...]float64{
		c.CacheHits, c.CacheMisses, c.ForwardRequests, c.ForwardSeconds * 1e6, c.ForwardErrors, c.ConnHits, c.ConnMisses,
		c.Rejects, c.Panics,
	}
}
