package dns

import (
	"context"
	"errors"
	"math"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/sockdiag"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("dns_tcp", func() sampler.Source { return &dnsTCP{} }, "dns_capture") }

// dnsTCP samples the TCP sockets of DNS servers: accept queues and their overflows, the connections of clients, and
// those of the servers to their upstreams.
type dnsTCP struct {
	registry   *sampler.Registry
	shared     *dnsShared
	namespaces []*tcpNamespace // changed only in Registry.Between
	refused    map[uint64]refusedNamespace
	own        uint64 // inode of the collector's network namespace
	buffer     [16 << 10]byte
}

// tcpNamespace is a network namespace with DNS servers.
type tcpNamespace struct {
	inode       uint64
	diag        *sockdiag.Socket
	netstat     procfs.Held
	listening   *sockdiag.Query
	connections *sockdiag.Query // of the ports of servers, local, and of their upstreams, remote
	local       []uint16
	remote      []uint16
	servers     []*tcpServer
	askers      []*tcpAsker

	costNS       int64 // CPU time of a dump of connections, smoothed
	wait         int   // ticks since the last dump
	troubled     int   // ticks for which more time can be spent
	onListening  func(*sockdiag.TCP)
	onConnection func(*sockdiag.TCP)
}

const (
	// To find a few connections the kernel visits every one on the machine, at 0.1 µs or more each, and a table of up
	// to half a million slots. This is what all dumps together can take per tick on average: 0.5 % of a CPU, and 3 %
	// while connections wait to be accepted. If they take longer they are made less often; the ticks in between are
	// missing. Accept queues are found at once and read in each tick.
	calmNSPerTick      = 500_000
	troubledNSPerTick  = 3_000_000
	troubledFor        = 100    // ticks after connections waited
	tooLongNS          = 30e6   // delays other sources: make it even rarer
	maxConnectionTicks = 36_000 // an hour
	backlogTicks       = 2      // a connection can be in transit at the instant of a sample
)

func (d *dnsTCP) Name() string { return "dns_tcp" }

func (d *dnsTCP) Start(_ context.Context, registry *sampler.Registry) error {
	d.registry, d.shared, d.refused = registry, sharedDNS(registry), make(map[uint64]refusedNamespace)
	if d.shared.noPackets != nil {
		return d.shared.noPackets // without packets the servers are not found
	}
	d.own, _ = netns.ID(registry.Roots.Proc, "self")
	diag, err := sockdiag.Open()
	if err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: sockdiag.Needs}
	}
	return diag.Close()
}

func (d *dnsTCP) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	for _, ns := range d.namespaces {
		news := ns.sampleListening(tick, recorder)
		// A drop is reported in its tick, and the base from which drops are counted is read with a new server, because
		// the tick of its second can be missed. Other drops do not concern these servers: once a second.
		if news || (tick.Sequence+ns.inode)%sampler.SlowEvery == 0 {
			d.sampleOverflows(ns, recorder)
		}
		if d.connectionsDue(ns, tick) {
			d.sampleConnections(ns, recorder)
		}
	}
}

// sampleListening reports whether a server has dropped connections, or is counted for the first time.
func (n *tcpNamespace) sampleListening(tick sampler.Tick, recorder *sampler.Recorder) (news bool) {
	for _, server := range n.servers {
		server.found, server.backlog, server.drops = noListener, 0, 0
	}
	if n.diag.Dump(n.listening, n.onListening) != nil {
		return false
	}
	for _, server := range n.servers {
		news = server.recordListening(tick, recorder) || news
		if server.backlog > 0 {
			n.troubled = troubledFor
		}
	}
	return news
}

func (d *dnsTCP) sampleOverflows(ns *tcpNamespace, recorder *sampler.Recorder) {
	text, ok := ns.netstat.Read(d.buffer[:])
	if !ok {
		return
	}
	overflows, ok := netsock.NetstatValue(text, "TcpExt:", "ListenOverflows")
	if !ok {
		return
	}
	for _, server := range ns.servers {
		recorder.Delta(server.overflowSlot, overflows)
	}
}

// connectionsDue reports whether the connections are read in this tick. The namespaces take turns.
func (d *dnsTCP) connectionsDue(ns *tcpNamespace, tick sampler.Tick) bool {
	budget := float64(calmNSPerTick)
	if ns.troubled > 0 {
		ns.troubled--
		budget = troubledNSPerTick
	}
	cost := float64(ns.costNS)
	every := cost * float64(len(d.namespaces)) / budget * max(1, cost/tooLongNS)
	if tick.Shed >= sampler.ShedSlowGauges {
		every = max(every, sampler.SlowEvery)
	}
	if ns.wait++; float64(ns.wait) < min(math.Ceil(every), maxConnectionTicks) {
		return false
	}
	ns.wait = 0
	return true
}

func (d *dnsTCP) sampleConnections(ns *tcpNamespace, recorder *sampler.Recorder) {
	for _, server := range ns.servers {
		server.closeWait, server.idle = 0, 0
	}
	for _, asker := range ns.askers {
		asker.begin()
	}
	started := threadCPU()
	// The clients' paths belong to the tracker.
	d.shared.tracker.Lock()
	defer d.shared.tracker.Unlock()
	complete := ns.diag.Dump(ns.connections, ns.onConnection) == nil
	cost := threadCPU() - started
	if ns.costNS == 0 {
		ns.costNS = cost
	}
	ns.costNS += (cost - ns.costNS) / 8
	for _, server := range ns.servers {
		server.recordConnections(recorder, complete)
	}
	if !complete {
		return
	}
	for _, asker := range ns.askers {
		asker.record(recorder)
	}
}

// threadCPU is the CPU time of the calling thread in nanoseconds: on a busy machine a dump takes long and yet costs
// little.
func threadCPU() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) != nil {
		return 0
	}
	return now.Nano()
}

// Close implements sampler.Source.
func (d *dnsTCP) Close() error {
	var errs []error
	for _, ns := range d.namespaces {
		errs = append(errs, ns.close())
	}
	return errors.Join(errs...)
}

func (n *tcpNamespace) close() error {
	n.netstat.Close()
	return n.diag.Close()
}

var _ dnscapture.Recorder = (*sampler.Recorder)(nil)
