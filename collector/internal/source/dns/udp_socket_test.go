package dns

import (
	"fmt"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestUDPSocket sums the two sockets of a server, and leaves out that of another.
func TestUDPSocket(t *testing.T) {
	proc := t.TempDir()
	pid, _ := sourcetest.AddProcess(t, proc, "coredns", "/")
	table := func(queue, drops int) {
		t.Helper()
		text := "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"
		for i, inode := range []int{501, 502, 999} {
			text += fmt.Sprintf("%5d: 0100007F:0035 00000000:0000 07 00000000:%08X 00:00000000 00000000     0        0 %d 2 0000000000000000 %d\n", i, queue, inode, drops)
		}
		sourcetest.Write(t, proc, fmt.Sprintf("%d/net/udp", pid), text)
	}
	table(0, 10)
	server := &oneServer{process: procwatch.Process{PID: pid, DNS: "coredns"}, sockets: []netsock.Socket{{Inode: 501}, {Inode: 502}}}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{server, &udpSocket{}}})
	r.Ticks(1)
	table(2304, 13)
	r.Ticks(1)
	r.Want(serverKey, catalogue.DNSReceiveQueueBytes, 0, 4608)
	r.Want(serverKey, catalogue.DNSSocketDrops, 6)
	if got := r.Fact(serverKey, "dns.udp_sockets"); got != "2" {
		t.Errorf("%s sockets", got)
	}
}
