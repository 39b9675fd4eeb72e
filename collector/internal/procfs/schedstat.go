package procfs

import "github.com/jitterscope/jitterscope/collector/internal/decimal"

// Schedstat is the scheduler's account of a thread, or its increase over some time.
type Schedstat struct {
	CPUNS  uint64 // on a CPU
	WaitNS uint64 // runnable, waiting for a CPU; counted when the thread gets one
	Slices uint64 // how often it was put on a CPU
}

// Minus is the increase since an earlier account of the same thread.
func (s Schedstat) Minus(earlier Schedstat) Schedstat {
	return Schedstat{CPUNS: s.CPUNS - earlier.CPUNS, WaitNS: s.WaitNS - earlier.WaitNS, Slices: s.Slices - earlier.Slices}
}

// ParseSchedstat reads /proc/PID/task/TID/schedstat. Format: Documentation/scheduler/sched-stats.rst.
func ParseSchedstat(text []byte) (s Schedstat, ok bool) {
	for _, field := range []*uint64{&s.CPUNS, &s.WaitNS, &s.Slices} {
		if *field, text, ok = decimal.Parse(skipSpaces(text)); !ok {
			return Schedstat{}, false
		}
	}
	return s, true
}
