package listening

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/cputime"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

// checkOwners drops owners that have ended or moved to another cgroup: they are looked up again.
func (s *Scanner) checkOwners(ns *namespace) {
	fine := make(map[*Process]bool)
	for inode, process := range ns.owners {
		good, known := fine[process]
		if !known {
			now := s.describe(process.PID)
			good = now != nil && *now == *process
			fine[process] = good
		}
		if !good {
			delete(ns.owners, inode)
		}
	}
}

// describe returns the facts about a process; nil if it has ended.
func (s *Scanner) describe(pid int) *Process {
	start, ok := procwatch.StartTicks(s.proc, pid)
	if !ok {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(s.proc, strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil
	}
	return &Process{PID: pid, StartTicks: start, Executable: procwatch.Executable(s.proc, pid), Cgroup: procwatch.CgroupOf(text)}
}

// findOwners searches the descriptors of the namespace's processes if a socket has no owner yet: those of young
// processes at once, since most new sockets are theirs, and those of all others as often as their cost permits.
func (s *Scanner) findOwners(ns *namespace, now time.Time) error {
	due := func(r row) bool {
		return ns.owners[r.inode] == nil && now.Sub(ns.unowned[r.inode]) > unownedFor
	}
	if !slices.ContainsFunc(ns.rows, due) {
		return ns.refused
	}
	if now.Before(ns.rest) {
		young := slices.DeleteFunc(slices.Clone(ns.pids), func(pid int) bool { return now.Sub(s.processes[pid].found) >= youngFor })
		holders, _ := s.holders(ns, young)
		for inode, of := range holders {
			if ns.owners[inode] == nil {
				ns.owners[inode] = ownerAmong(of)
				delete(ns.unowned, inode)
			}
		}
		return ns.refused
	}
	var holders map[uint64][]*Process
	cost := cputime.Of(func() { holders, ns.refused = s.holders(ns, ns.pids) })
	for _, row := range ns.rows {
		if owner := ownerAmong(holders[row.inode]); owner != nil {
			ns.owners[row.inode] = owner
			delete(ns.unowned, row.inode)
		} else {
			ns.unowned[row.inode] = now
		}
	}
	ns.rest = time.Now().Add(min(restFactor*cost, restAtMost))
	return ns.refused
}

// holders returns which of the processes hold each of the namespace's listening sockets, and the last refusal to read
// the descriptors of one.
func (s *Scanner) holders(ns *namespace, pids []int) (holders map[uint64][]*Process, refused error) {
	wanted := make(map[uint64]struct{}, len(ns.rows))
	for _, row := range ns.rows {
		wanted[row.inode] = struct{}{}
	}
	holders = make(map[uint64][]*Process)
	for _, pid := range pids {
		held, err := netsock.Inodes(s.proc, pid)
		if errors.Is(err, fs.ErrPermission) {
			refused = err
		}
		var process *Process
		for inode := range held {
			if _, ok := wanted[inode]; !ok {
				continue
			}
			if process == nil {
				if process = s.describe(pid); process == nil {
					break
				}
			}
			holders[inode] = append(holders[inode], process)
		}
	}
	return holders, refused
}

// ownerAmong chooses the owner of a socket. A manager that opens sockets for others (systemd) keeps them, so the
// youngest process determines the cgroup; within it the oldest is the server, and the others are its workers.
func ownerAmong(holders []*Process) *Process {
	if len(holders) == 0 {
		return nil
	}
	byAge := func(a, b *Process) int {
		if a.StartTicks != b.StartTicks {
			return int(a.StartTicks) - int(b.StartTicks)
		}
		return a.PID - b.PID
	}
	youngest := slices.MaxFunc(holders, byAge)
	return slices.MinFunc(slices.DeleteFunc(slices.Clone(holders), func(p *Process) bool { return p.Cgroup != youngest.Cgroup }), byAge)
}
