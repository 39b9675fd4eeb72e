package cgroup

import "github.com/jitterscope/jitterscope/collector/internal/decimal"

// CPUStat is cpu.stat. Times are microseconds. V1 has no usage here (it is in cpuacct.usage) and reports nanoseconds,
// which are truncated to microseconds so that differences add up.
//
// Formats: Documentation/scheduler/sched-bwc.rst (v1), Documentation/admin-guide/cgroup-v2.rst (v2).
type CPUStat struct {
	UsageUS, UserUS, SystemUS uint64
	HasUsage                  bool
	Periods, ThrottledPeriods uint64
	ThrottledUS               uint64
	HasBandwidth              bool
	Bursts, BurstUS           uint64
	HasBurst                  bool
}

// ParseCPUStat reads cpu.stat of either version into stat; fields that the kernel does not report keep their values.
func ParseCPUStat(text []byte, stat *CPUStat) {
	for len(text) > 0 {
		var key []byte
		var value uint64
		var ok bool
		key, value, ok, text = nextField(text)
		if !ok {
			continue
		}
		switch string(key) { // the compiler compares without allocating
		case "usage_usec":
			stat.UsageUS, stat.HasUsage = value, true
		case "user_usec":
			stat.UserUS = value
		case "system_usec":
			stat.SystemUS = value
		case "nr_periods":
			stat.Periods, stat.HasBandwidth = value, true
		case "nr_throttled":
			stat.ThrottledPeriods = value
		case "throttled_usec":
			stat.ThrottledUS = value
		case "throttled_time": // v1, ns
			stat.ThrottledUS = value / 1000
		case "nr_bursts":
			stat.Bursts, stat.HasBurst = value, true
		case "burst_usec":
			stat.BurstUS = value
		case "burst_time": // v1, ns
			stat.BurstUS = value / 1000
		}
	}
}

// ParseThrottledLocal reads cpu.stat.local: throttled time including that caused by ancestors' limits, microseconds.
func ParseThrottledLocal(text []byte) (us uint64, ok bool) {
	for len(text) > 0 {
		key, value, good, rest := nextField(text)
		text = rest
		if !good {
			continue
		}
		switch string(key) {
		case "throttled_usec":
			return value, true
		case "throttled_time": // v1, ns
			return value / 1000, true
		}
	}
	return 0, false
}

// ParseUint reads a file that holds a single number: cpuacct.usage, memory.current, pids.current. "max" is not a
// number.
func ParseUint(text []byte) (value uint64, ok bool) {
	value, rest, ok := decimal.Parse(text)
	return value, ok && (len(rest) == 0 || rest[0] == '\n' || rest[0] == ' ')
}

// nextField splits the first line, "key value", off text. ok is false if the line does not have that form.
func nextField(text []byte) (key []byte, value uint64, ok bool, rest []byte) {
	at := 0
	for at < len(text) && text[at] != ' ' && text[at] != '\n' {
		at++
	}
	key = text[:at]
	if at < len(text) && text[at] == ' ' {
		value, rest, ok = decimal.Parse(text[at+1:])
		ok = ok && (len(rest) == 0 || rest[0] == '\n')
	} else {
		rest = text[at:]
	}
	for len(rest) > 0 && rest[0] != '\n' {
		rest = rest[1:]
	}
	if len(rest) > 0 {
		rest = rest[1:]
	}
	return key, value, ok, rest
}

// ParseCPUAcctStat reads v1 cpuacct.stat: user and system time in microseconds, which the kernel reports in units of 10
// ms.
func ParseCPUAcctStat(text []byte) (userUS, systemUS uint64, ok bool) {
	const tickUS = 10_000 // USER_HZ is 100
	for len(text) > 0 {
		key, value, good, rest := nextField(text)
		text = rest
		switch {
		case !good:
		case string(key) == "user":
			userUS, ok = value*tickUS, true
		case string(key) == "system":
			systemUS = value * tickUS
		}
	}
	return userUS, systemUS, ok
}

// MemoryStat holds the fields of memory.stat that the collector uses.
type MemoryStat struct {
	AnonBytes, FileBytes, MajorFaults uint64
	CacheBytes                        uint64 // file pages that the kernel can reclaim: FileBytes without shared memory
	SlabBytes, ScannedPages           uint64 // v2
	HasSlab, HasScanned               bool
	Refaults                          uint64 // of file pages; since Linux 3.15, on v1 since 5.9
	HasRefaults                       bool
}

// ParseMemoryStat reads memory.stat of either version. On v1 it uses the total_ fields, which include the children, as
// usage_in_bytes and all of v2 do.
func ParseMemoryStat(text []byte) (stat MemoryStat, ok bool) {
	var active, inactive uint64
	for len(text) > 0 {
		key, value, good, rest := nextField(text)
		text = rest
		if !good {
			continue
		}
		switch string(key) {
		case "anon", "total_rss":
			stat.AnonBytes, ok = value, true
		case "file", "total_cache":
			stat.FileBytes = value
		case "pgmajfault", "total_pgmajfault":
			stat.MajorFaults = max(stat.MajorFaults, value)
		case "active_file", "total_active_file":
			active = max(active, value)
		case "inactive_file", "total_inactive_file":
			inactive = max(inactive, value)
		case "workingset_refault_file", "total_workingset_refault_file", "workingset_refault": // the latter before Linux 5.9
			stat.Refaults, stat.HasRefaults = max(stat.Refaults, value), true
		case "slab":
			stat.SlabBytes, stat.HasSlab = value, true
		case "pgscan":
			stat.ScannedPages, stat.HasScanned = value, true
		}
	}
	stat.CacheBytes = active + inactive
	return stat, ok
}

// ParseField reads one "key value" line of a file such as memory.events or memory.oom_control.
func ParseField(text []byte, field string) (value uint64, ok bool) {
	for len(text) > 0 {
		key, value, good, rest := nextField(text)
		if good && string(key) == field {
			return value, true
		}
		text = rest
	}
	return 0, false
}
