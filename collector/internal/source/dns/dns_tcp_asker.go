package dns

import (
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/dnsservers"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/sockdiag"
)

// maxSeen bounds the connections whose owner is looked up.
const maxSeen = 512

// tcpAsker is a process that queries other DNS servers over TCP.
type tcpAsker struct {
	process   *procwatch.Process
	owners    tcpOwners          // discovery side
	upstreams []dnswire.Endpoint // none: any server's port 53 or 853
	slots     []askerSlots       // one pair per address of the process
	foreign   []uint32           // inodes of other processes' sockets, sorted

	connections, idle int
	seen              [maxSeen]uint32 // inodes of the connections last counted
	seenCount         int
}

type askerSlots struct{ connections, idle batch.Slot }

func (a *tcpAsker) begin() { a.connections, a.idle, a.seenCount = 0, 0, 0 }

func (a *tcpAsker) asks(remote *dnswire.Endpoint) bool {
	if len(a.upstreams) == 0 {
		return remote.Port == dnsservers.Port || remote.Port == dnsservers.TLSPort
	}
	return slices.Contains(a.upstreams, *remote)
}

func (a *tcpAsker) count(row *sockdiag.TCP) {
	if !a.asks(&row.Remote) {
		return
	}
	if a.seenCount < maxSeen {
		a.seen[a.seenCount] = row.Inode
		a.seenCount++
	}
	if _, others := slices.BinarySearch(a.foreign, row.Inode); others {
		return
	}
	a.connections++
	if isIdle(row.SentMS, row.ReceivedMS, row.SegmentsSent, row.SegmentsReceived) {
		a.idle++
	}
}

func (a *tcpAsker) record(recorder *sampler.Recorder) {
	for _, slots := range a.slots {
		recorder.Set(slots.connections, float64(a.connections))
		recorder.Set(slots.idle, float64(a.idle))
	}
}
