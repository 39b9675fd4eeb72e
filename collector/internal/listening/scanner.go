// Package listening finds which programs listen for TCP connections on this machine, in all network namespaces.
package listening

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sockdiag"
)

// Needs lists what finding the owners of sockets requires, for SourceStatus.
const Needs = "CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_SYS_ADMIN"

const (
	maxNamespaces = 256
	// A young process is examined in every scan, because it can enter another namespace or be moved to another cgroup;
	// an old one seldom.
	youngFor     = 10 * time.Second
	recheckEvery = 30 * time.Second
	ownersEvery  = 5 * time.Second // check whether owners are alive, and in the same cgroup
	// The cost of reading the descriptors of all processes grows with their number: it takes at most 1 % of a CPU, and
	// only on the largest machines more, so that a new server is never overlooked for longer than restAtMost.
	restFactor = 100
	restAtMost = 15 * time.Second
	// A socket that no process holds (one of the kernel, or of a process that cannot be examined) is looked up again
	// after this.
	unownedFor = 10 * time.Second
)

// Process is a process that listens.
type Process struct {
	PID        int
	StartTicks uint64
	Executable string // base name
	Cgroup     string // path below the hierarchy root of the CPU controller
}

// Socket is a listening socket and its owner.
type Socket struct {
	Namespace uint64 // inode of the network namespace
	Local     dnswire.Endpoint
	Process   *Process
	Queue     Queue
}

// Queue is the accept queue of a listening socket. Known is false if the kernel has no sock_diag.
type Queue struct {
	Inode uint64
	Limit uint32 // how many connections can wait to be accepted
	Drops uint32 // connection attempts dropped since the socket was created
	Known bool
}

// Scanner scans repeatedly. It is used by one goroutine at a time.
type Scanner struct {
	proc       string
	own        uint64 // the collector's network namespace
	self       int    // the collector
	processes  map[int]*known
	namespaces map[uint64]*namespace
	checked    time.Time // when the owners were last checked
}

// known is a process and its namespace.
type known struct {
	namespace      uint64
	found, checked time.Time
}

// namespace is the listening sockets of a network namespace.
type namespace struct {
	inode   uint64
	pids    []int
	diag    *sockdiag.Socket // nil: not possible
	failed  error
	rows    []row
	owners  map[uint64]*Process  // by inode of the socket
	unowned map[uint64]time.Time // when they were last looked up
	rest    time.Time            // do not read descriptors before
	refused error                // why descriptors of some processes could not be read
}

type row struct {
	local dnswire.Endpoint
	inode uint64
	queue Queue
}

// NewScanner makes a Scanner for the processes below proc.
func NewScanner(proc string) *Scanner {
	own, _ := netns.ID(proc, "self")
	link, _ := os.Readlink(filepath.Join(proc, "self"))
	self, _ := strconv.Atoi(link)
	return &Scanner{proc: proc, own: own, self: self, processes: make(map[int]*known), namespaces: make(map[uint64]*namespace)}
}

// Close closes all held sockets.
func (s *Scanner) Close() {
	for _, ns := range s.namespaces {
		ns.close()
	}
}

func (n *namespace) close() {
	if n.diag != nil {
		_ = n.diag.Close()
	}
}

// Scan returns the listening sockets of all processes except the collector, ordered by namespace, port and address. An
// error says what could not be seen; the rest is returned. moved says that processes might have been moved to another
// cgroup.
func (s *Scanner) Scan(ctx context.Context, moved bool) ([]Socket, error) {
	now := time.Now()
	if err := s.readProcesses(now); err != nil {
		return nil, err
	}
	recheck := moved || now.Sub(s.checked) > ownersEvery
	if recheck {
		s.checked = now
	}
	var found []Socket
	var failed error
	for _, inode := range slices.Sorted(maps.Keys(s.namespaces)) {
		ns := s.namespaces[inode]
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := s.readNamespace(ns); err != nil {
			failed = err
			continue
		}
		if recheck {
			s.checkOwners(ns)
		}
		if err := s.findOwners(ns, now); err != nil {
			failed = err
		}
		for _, row := range ns.rows {
			if process := ns.owners[row.inode]; process != nil && process.PID != s.self {
				found = append(found, Socket{ns.inode, row.local, process, row.queue})
			}
		}
	}
	return found, failed
}

// readProcesses groups the processes by namespace, and drops namespaces without any.
func (s *Scanner) readProcesses(now time.Time) error {
	pids, err := procwatch.PIDs(s.proc)
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	for _, ns := range s.namespaces {
		ns.pids = ns.pids[:0]
	}
	present := make(map[int]struct{}, len(pids))
	for _, pid := range pids {
		present[pid] = struct{}{}
		k := s.processes[pid]
		if k == nil {
			k = &known{found: now}
			s.processes[pid] = k
		}
		if now.Sub(k.found) < youngFor || now.Sub(k.checked) > recheckEvery {
			k.namespace, k.checked = procwatch.NetworkNS(s.proc, pid), now
		}
		if k.namespace == 0 {
			continue // gone, or not accessible
		}
		ns := s.namespaces[k.namespace]
		if ns == nil {
			if len(s.namespaces) >= maxNamespaces {
				continue
			}
			ns = &namespace{inode: k.namespace, owners: make(map[uint64]*Process), unowned: make(map[uint64]time.Time)}
			s.namespaces[k.namespace] = ns
		}
		ns.pids = append(ns.pids, pid)
	}
	maps.DeleteFunc(s.processes, func(pid int, _ *known) bool { _, ok := present[pid]; return !ok })
	maps.DeleteFunc(s.namespaces, func(_ uint64, ns *namespace) bool {
		if len(ns.pids) == 0 {
			ns.close()
		}
		return len(ns.pids) == 0
	})
	return nil
}

// readNamespace lists the listening sockets by sock_diag, because the table in /proc has all connections of the
// machine.
func (s *Scanner) readNamespace(ns *namespace) error {
	ns.rows = ns.rows[:0]
	if ns.diag == nil && ns.failed == nil {
		ns.diag, ns.failed = sockdiag.OpenIn(s.proc, ns.pids[0], ns.inode, s.own)
	}
	if ns.diag != nil {
		err := ns.diag.Dump(sockdiag.Listening(), func(tcp *sockdiag.TCP) {
			ns.rows = append(ns.rows, row{tcp.Local, uint64(tcp.Inode), Queue{uint64(tcp.Inode), tcp.SendQueue, tcp.Drops, true}})
		})
		if err != nil {
			return err
		}
	} else if err := s.readTables(ns); err != nil {
		return errors.Join(ns.failed, err)
	}
	listening := make(map[uint64]struct{}, len(ns.rows))
	for _, row := range ns.rows {
		listening[row.inode] = struct{}{}
	}
	maps.DeleteFunc(ns.owners, func(inode uint64, _ *Process) bool { _, ok := listening[inode]; return !ok })
	maps.DeleteFunc(ns.unowned, func(inode uint64, _ time.Time) bool { _, ok := listening[inode]; return !ok })
	slices.SortFunc(ns.rows, func(a, b row) int {
		if a.local.Port != b.local.Port {
			return int(a.local.Port) - int(b.local.Port)
		}
		return slices.Compare(a.local.Address[:], b.local.Address[:])
	})
	return nil
}

// readTables lists them if the kernel has no sock_diag.
func (s *Scanner) readTables(ns *namespace) error {
	take := func(socket *netsock.Socket) {
		if socket.State == netsock.TCPListen {
			ns.rows = append(ns.rows, row{local: socket.Local, inode: socket.Inode})
		}
	}
	_ = netsock.List(s.proc, ns.pids[0], "tcp6", take) // no IPv6, no tcp6
	return netsock.List(s.proc, ns.pids[0], "tcp", take)
}
