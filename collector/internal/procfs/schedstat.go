package procfs

import "github.com/jitterscope/jitterscope/collector/internal/decimal"

// ParseSchedstat reads /proc/PID/task/TID/schedstat: nanoseconds on a CPU, nanoseconds waiting for one, and how often the
// thread was put on one. Format: Documentation/scheduler/sched-stats.rst.
func ParseSchedstat(text []byte) (cpuNS, slices uint64, ok bool) {
	cpuNS, rest, ok := decimal.Parse(text)
	if !ok {
		return 0, 0, false
	}
	if _, rest, ok = decimal.Parse(skipSpaces(rest)); !ok {
		return 0, 0, false
	}
	slices, _, ok = decimal.Parse(skipSpaces(rest))
	return cpuNS, slices, ok
}
