package dns

import (
	"context"
	"errors"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/dnsservers"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("dns_capture", func() sampler.Source { return &dnsCapture{} }, "cgroup_cpu")
}

// dnsCapture times the DNS servers of this machine from packets.
type dnsCapture struct {
	registry *sampler.Registry
	shared   *dnsShared
	manager  *dnsManager
	tracker  *dnscapture.Tracker
	captures captures // changed only in Registry.Between
	packet   dnscapture.Packet
	recorder *sampler.Recorder // of the current tick
	isSlowed func(*dnscapture.Server) bool
	addRead  func(*dnscapture.Read)
	clock    bpf.Clock
}

func (d *dnsCapture) Name() string { return "dns_capture" }

func (d *dnsCapture) Start(ctx context.Context, registry *sampler.Registry) error {
	d.registry, d.shared = registry, sharedDNS(registry)
	d.tracker = d.shared.tracker
	d.isSlowed, d.addRead = d.throttled, d.tracker.Read // once: a method value allocates
	d.manager = newDNSManager(registry, d.tracker, d.shared, &d.captures)
	host, err := openCapture(0, 0, dnscapture.SmallRing)
	if err != nil {
		d.shared.noPackets = &sampler.Unavailable{Detail: err.Error(), Needs: dnscapture.Needs}
		return d.shared.noPackets
	}
	d.shared.noPackets = nil
	d.captures.list = append(d.captures.list, host)
	// Work that should not wait for the next discovery, off the sampling thread: servers seen for the first time, and
	// queries that are ready to be sent.
	registry.Every(ctx, 250*time.Millisecond, d.manager.candidates)
	registry.Every(ctx, 500*time.Millisecond, d.flush)
	return nil
}

func (d *dnsCapture) flush() {
	for _, block := range d.tracker.Flush(d.manager.lossy()) {
		d.registry.Queries(block.Server, block.Queries)
	}
}

func (d *dnsCapture) Discover(ctx context.Context) { d.manager.discover(ctx) }

func (d *dnsCapture) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	d.tracker.Lock()
	defer d.tracker.Unlock()
	d.recorder = recorder
	// Reads first: an answer that is about to be matched was read before it was sent.
	if split := d.shared.split.Load(); split != nil {
		d.clock.Set()
		split.Drain(&d.clock, d.addRead)
	}
	// Packets carry the kernel's time, so ticks that the sampler missed are filled in.
	for back := min(tick.Missed, batch.Lag); back >= 0; back-- {
		endUS := tick.EndUS() - int64(back)*batch.StepUS
		for _, c := range d.captures.list {
			for c.socket.Next(endUS*1000, &d.packet) {
				d.tracker.Packet(c.number, &d.packet)
				c.socket.Done()
			}
		}
		d.tracker.Tick(back, endUS, recorder, d.isSlowed)
	}
}

// throttled reports whether a server's cgroup, or an ancestor, has a throttled period in the current tick. The source
// cgroup_cpu, which runs before this one, has already written it.
func (d *dnsCapture) throttled(server *dnscapture.Server) bool {
	return d.recorder.Throttled(server.Throttled)
}

// Finish sends what is ready.
func (d *dnsCapture) Finish() { d.flush() }

// EachCounter implements sampler.Counters.
func (d *dnsCapture) EachCounter(yield func(name string, value float64)) {
	packets, drops := d.manager.statistics()
	stats := d.tracker.Statistics()
	yield("packets_total", float64(packets))
	yield("packets_dropped_total", float64(drops))
	yield("packets_not_dns_total", float64(stats.NotDNS))
	yield("queries_repeated_total", float64(stats.Repeated))
	yield("queries_overflow_total", float64(stats.Overflow))
	yield("answers_unmatched_total", float64(stats.Unmatched))
	yield("queries_reset_total", float64(stats.Reset))
}

func (d *dnsCapture) Close() error {
	d.manager.scanner.Close()
	var errs []error
	for _, c := range d.captures.list {
		errs = append(errs, c.socket.Close())
	}
	return errors.Join(errs...)
}

// captures are the network namespaces in which packets are taken.
type captures struct{ list []*capture }

// capture is the socket in one network namespace.
type capture struct {
	number    uint8 // 0: the collector's own
	namespace uint64
	socket    *dnscapture.Socket
}

// openCapture opens the socket in the network namespace of the calling thread.
func openCapture(number uint8, namespace uint64, ring dnscapture.Shape) (*capture, error) {
	socket, err := dnscapture.Open(ring, []uint16{dnsservers.Port})
	if err != nil {
		return nil, err
	}
	return &capture{number: number, namespace: namespace, socket: socket}, nil
}
