package process

import (
	"cmp"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/threads"
)

const (
	mostThreads  = 256  // read at each tick: one or two microseconds each
	mostRanked   = 4096 // examined to find the busiest
	rankEvery    = 10 * time.Second
	unknownWorth = 1 // of a thread that is new since the last ranking: after those that did something
)

// busiest chooses which threads are read if there are too many.
type busiest struct {
	ranked time.Time
	last   map[int]procfs.Schedstat // by thread
	worth  map[int]uint64           // how long each ran and waited between two rankings
}

// choose returns the threads to read of each process. Those that ran and waited longest are determined every ten
// seconds.
func (b *busiest) choose(proc string, processes []*delayedProcess, listed [][]int, now time.Time) [][]int {
	if now.Sub(b.ranked) >= rankEvery {
		b.ranked = now
		b.rank(proc, processes, listed)
	}
	type candidate struct {
		process, id int
		worth       uint64
	}
	var candidates []candidate
	for i := range listed {
		for _, id := range listed[i] {
			worth, known := b.worth[id]
			if !known {
				worth = unknownWorth
			}
			candidates = append(candidates, candidate{i, id, worth})
		}
	}
	slices.SortStableFunc(candidates, func(a, c candidate) int { return cmp.Compare(c.worth, a.worth) })
	chosen := make([][]int, len(listed))
	for _, c := range candidates[:min(len(candidates), mostThreads)] {
		chosen[c.process] = append(chosen[c.process], c.id)
	}
	return chosen
}

func (b *busiest) rank(proc string, processes []*delayedProcess, listed [][]int) {
	last, worth := make(map[int]procfs.Schedstat), make(map[int]uint64)
	for i, p := range processes {
		for _, id := range listed[i] {
			if len(last) == mostRanked {
				break
			}
			account, ok := threads.Account(proc, p.watched.PID, id)
			if !ok {
				continue
			}
			last[id] = account
			if before, known := b.last[id]; known {
				did := account.Minus(before)
				worth[id] = did.CPUNS + did.WaitNS
			} else {
				worth[id] = account.CPUNS + account.WaitNS
			}
		}
	}
	b.last, b.worth = last, worth
}
