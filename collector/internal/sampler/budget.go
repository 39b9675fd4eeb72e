package sampler

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Budget is how much of the machine the collector can use.
type Budget struct {
	CPUShare float64 // of one CPU, 0.1 is 10 %; 0: no limit
}

// Shedding levels, each giving up more than the one before. Sources read them in Tick.Shed.
const (
	ShedNothing     = iota
	ShedSlowGauges  // memory, pids and pressure of cgroups every second
	ShedZoom        // no 10 ms sampling
	ShedUnlimited   // CPU of cgroups without a CPU quota every second
	shedLevels      = ShedUnlimited
	budgetWindow    = 10 * time.Second
	budgetRelease   = 0.6              // return by one level below this share of the budget,
	budgetHoldAtMin = 60 * time.Second // but no sooner after a change than this
)

var shedNames = [...]string{
	ShedNothing:    "full resolution",
	ShedSlowGauges: "memory, pids and pressure of cgroups at 1 s",
	ShedZoom:       "memory, pids and pressure of cgroups at 1 s, no 10 ms zoom",
	ShedUnlimited:  "memory, pids, pressure and CPU of cgroups without a quota at 1 s, no 10 ms zoom",
}

// budget compares the CPU time of the process with the budget and picks the level.
type budget struct {
	limit   Budget
	current atomic.Int32
	at      time.Time
	used    time.Duration
	changed time.Time
}

type shedChange struct{ From, To, Why string }

func newBudget(limit Budget) *budget { return &budget{limit: limit} }

func (b *budget) level() int { return int(b.current.Load()) }

// update is called about every second.
func (b *budget) update(now time.Time) (shedChange, bool) {
	if b.limit.CPUShare <= 0 {
		return shedChange{}, false
	}
	used := processCPU()
	if b.at.IsZero() {
		b.at, b.used = now, used
		return shedChange{}, false
	}
	elapsed := now.Sub(b.at)
	if elapsed < budgetWindow {
		return shedChange{}, false
	}
	share := float64(used-b.used) / float64(elapsed)
	b.at, b.used = now, used
	return b.decide(share, now)
}

func (b *budget) decide(share float64, now time.Time) (shedChange, bool) {
	level := b.level()
	next := level
	switch {
	case share > b.limit.CPUShare && level < shedLevels:
		next = level + 1
	case share < b.limit.CPUShare*budgetRelease && level > 0 && now.Sub(b.changed) >= budgetHoldAtMin:
		next = level - 1
	default:
		return shedChange{}, false
	}
	b.changed = now
	b.current.Store(int32(next))
	why := fmt.Sprintf("used %.1f %% of a CPU over %s, the budget is %.1f %%", share*100, budgetWindow, b.limit.CPUShare*100)
	return shedChange{From: shedNames[level], To: shedNames[next], Why: why}, true
}

// processCPU is the CPU time of this process, all threads.
func processCPU() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
