package procfs

// ParseSchedstat reads /proc/PID/task/TID/schedstat: nanoseconds on a CPU, nanoseconds waiting for one, and how often the
// thread was put on one. Format: Documentation/scheduler/sched-stats.rst.
func ParseSchedstat(text []byte) (cpuNS, slices uint64, ok bool) {
	cpuNS, rest, ok := number(text)
	if !ok {
		return 0, 0, false
	}
	if _, rest, ok = number(skipSpaces(rest)); !ok {
		return 0, 0, false
	}
	slices, _, ok = number(skipSpaces(rest))
	return cpuNS, slices, ok
}
