package dns

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/cputime"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("udp_socket", func() sampler.Source { return &udpSocket{} }, "dns_capture")
}

// udpSocket samples the receive queues of DNS servers' UDP sockets.
type udpSocket struct {
	registry *sampler.Registry
	shared   *dnsShared
	tables   map[tableKey]*socketTable
	servers  []queueOfServer // changed only in Registry.Between, like list
	list     []*socketTable
	costNS   int64 // CPU time of one read of all tables, smoothed
	buffer   []byte
}

type tableKey struct {
	namespace uint64
	pid       int
	name      string
}

type socketTable struct {
	file  procfs.Held
	found []socketReading
}

// socketReading is one wanted socket and its last reading.
type socketReading struct {
	inode, queue, drops uint64
	seen                bool
}

type queueOfServer struct {
	server       *dnsServer
	drops, queue batch.Slot
	sockets      []*socketReading
	inodes       []uint64
	lastDrops    uint64
	known        bool
}

// The kernel walks its whole socket table for a read, 60 µs on a small machine: if it takes longer than this, the table
// is read only once a second.
const expensiveNS = 300_000

func (u *udpSocket) Name() string { return "udp_socket" }

func (u *udpSocket) Start(_ context.Context, registry *sampler.Registry) error {
	u.registry, u.shared, u.tables = registry, sharedDNS(registry), make(map[tableKey]*socketTable)
	u.buffer = make([]byte, 64<<10)
	file, err := procfs.Hold(filepath.Join(registry.Roots.Proc, "self/net/udp"))
	if err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable /proc/net/udp"}
	}
	file.Close()
	return nil
}

// Discover opens the tables of the servers' network namespaces.
func (u *udpSocket) Discover(context.Context) {
	servers := *u.shared.servers.Load()
	if u.same(servers) {
		return
	}
	tables := make(map[tableKey]*socketTable)
	var list []*socketTable
	wanted := make([]queueOfServer, 0, len(servers))
	namespaces := make(map[uint64][2]*socketTable)
	for _, server := range servers {
		pair, ok := namespaces[server.process.NetworkNS]
		if !ok {
			for i, name := range []string{"udp", "udp6"} {
				key := tableKey{server.process.NetworkNS, server.process.PID, name}
				path := filepath.Join(u.registry.Roots.Proc, strconv.Itoa(key.pid), "net", name)
				pair[i] = &socketTable{file: procfs.HoldIfExists(path)}
				tables[key] = pair[i]
				list = append(list, pair[i])
			}
			namespaces[server.process.NetworkNS] = pair
		}
		q := queueOfServer{
			server: server, drops: u.registry.Series(server.Resource(), catalogue.DNSSocketDrops),
			queue: u.registry.Series(server.Resource(), catalogue.DNSReceiveQueueBytes),
		}
		for _, socket := range *server.sockets.Load() {
			q.inodes = append(q.inodes, socket.Inode)
			for _, table := range pair {
				table.found = append(table.found, socketReading{inode: socket.Inode})
			}
		}
		u.registry.Fact(server.Resource(), "dns.udp_sockets", strconv.Itoa(len(q.inodes)))
		wanted = append(wanted, q)
	}
	for i := range wanted { // after all were appended: the slices no longer move
		for _, table := range namespaces[wanted[i].server.process.NetworkNS] {
			for k := range table.found {
				for _, inode := range wanted[i].inodes {
					if table.found[k].inode == inode {
						wanted[i].sockets = append(wanted[i].sockets, &table.found[k])
					}
				}
			}
		}
	}
	old := u.tables
	u.registry.Between(func() {
		for i := range wanted {
			for k := range u.servers { // drops in the meantime count
				if was := &u.servers[k]; was.server == wanted[i].server && slices.Equal(was.inodes, wanted[i].inodes) {
					wanted[i].lastDrops, wanted[i].known = was.lastDrops, was.known
				}
			}
		}
		u.servers, u.list, u.tables = wanted, list, tables
	})
	for _, table := range old {
		table.file.Close()
	}
}

// same reports whether the servers and their sockets are those already sampled.
func (u *udpSocket) same(servers []*dnsServer) bool {
	if len(servers) != len(u.servers) {
		return false
	}
	for i, server := range servers {
		sockets := *server.sockets.Load()
		if u.servers[i].server != server || len(u.servers[i].inodes) != len(sockets) {
			return false
		}
		for k := range sockets {
			if u.servers[i].inodes[k] != sockets[k].Inode {
				return false
			}
		}
	}
	return true
}

func (u *udpSocket) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	if len(u.list) == 0 || (u.costNS > expensiveNS && tick.Sequence%10 != 0) {
		return
	}
	cost := cputime.Of(func() {
		for _, table := range u.list {
			u.read(table)
		}
	})
	u.costNS += (cost.Nanoseconds() - u.costNS) / 8
	for i := range u.servers {
		u.record(&u.servers[i], recorder)
	}
}

// read finds the wanted sockets in a table.
func (u *udpSocket) read(table *socketTable) {
	for i := range table.found {
		table.found[i].seen = false
	}
	text, ok := table.file.Read(u.buffer)
	if !ok {
		return
	}
	var socket netsock.Socket
	for len(text) > 0 {
		var row []byte
		row, text = netsock.NextRow(text)
		if !netsock.Parse(row, &socket) {
			continue
		}
		for i := range table.found {
			if found := &table.found[i]; found.inode == socket.Inode {
				found.queue, found.drops, found.seen = socket.ReceiveQueue, socket.Drops, true
			}
		}
	}
}

// record sums the sockets of a server: with SO_REUSEPORT it has several.
func (u *udpSocket) record(q *queueOfServer, recorder *sampler.Recorder) {
	var drops, queue uint64
	seen := false
	for _, socket := range q.sockets {
		if socket.seen {
			drops, queue, seen = drops+socket.drops, queue+socket.queue, true
		}
	}
	if !seen {
		return
	}
	recorder.Set(q.queue, float64(queue))
	if q.known && drops >= q.lastDrops {
		recorder.Set(q.drops, float64(drops-q.lastDrops))
	}
	q.lastDrops, q.known = drops, true
}

func (u *udpSocket) Close() error {
	for _, table := range u.tables {
		table.file.Close()
	}
	return nil
}
