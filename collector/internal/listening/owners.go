package listening

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

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

// findOwners searches the descriptors of the namespace's processes if a socket has no owner yet.
func (s *Scanner) findOwners(ns *namespace, now time.Time) error {
	due := func(r row) bool {
		return ns.owners[r.inode] == nil && now.Sub(ns.unowned[r.inode]) > unownedFor
	}
	if now.Before(ns.rest) || !slices.ContainsFunc(ns.rows, due) {
		return ns.refused
	}
	wanted := make(map[uint64]struct{}, len(ns.rows))
	for _, row := range ns.rows {
		wanted[row.inode] = struct{}{}
	}
	holders := make(map[uint64][]*Process)
	ns.refused = nil
	for _, pid := range ns.pids {
		held, err := netsock.Inodes(s.proc, pid)
		if errors.Is(err, fs.ErrPermission) {
			ns.refused = err
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
	for inode := range wanted {
		if owner := ownerAmong(holders[inode]); owner != nil {
			ns.owners[inode] = owner
			delete(ns.unowned, inode)
		} else {
			ns.unowned[inode] = now
		}
	}
	ns.rest = time.Now().Add(restFactor * time.Since(now))
	return ns.refused
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
