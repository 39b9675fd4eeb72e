package procfs

import "github.com/jitterscope/jitterscope/collector/internal/decimal"

// DentryState is /proc/sys/fs/dentry-state. Negative is 0 before Linux 5.0, where the field was unused.
// Format: Documentation/admin-guide/sysctl/fs.rst.
type DentryState struct{ Dentries, Unused, Negative uint64 }

// ParseDentryState parses the file. The kernel sums per-CPU counters without a lock, so a sum can be slightly negative:
// that becomes 0.
func ParseDentryState(text []byte) (state DentryState, ok bool) {
	var fields [5]uint64
	for i := range fields {
		for len(text) > 0 && (text[0] == '\t' || text[0] == ' ') {
			text = text[1:]
		}
		negative := len(text) > 0 && text[0] == '-'
		if negative {
			text = text[1:]
		}
		if fields[i], text, ok = decimal.Parse(text); !ok {
			return DentryState{}, false
		}
		if negative {
			fields[i] = 0
		}
	}
	return DentryState{Dentries: fields[0], Unused: fields[1], Negative: fields[4]}, true
}

// MemInfo holds the fields of /proc/meminfo that the collector uses, in bytes. Format:
// Documentation/filesystems/proc.rst.
type MemInfo struct {
	FreeBytes, CachedBytes                       uint64 // cached: including buffers
	AvailableBytes                               uint64
	HasAvailable                                 bool // since Linux 3.14
	SlabReclaimableBytes, SlabUnreclaimableBytes uint64
}

// ParseMemInfo reads the file.
func ParseMemInfo(text []byte) (info MemInfo, ok bool) {
	for len(text) > 0 {
		var key []byte
		var kib uint64
		var good bool
		key, kib, good, text = nextPair(text, ':')
		if !good {
			continue
		}
		bytes := kib << 10
		switch string(key) { // the compiler compares without allocating
		case "MemFree":
			info.FreeBytes, ok = bytes, true
		case "MemAvailable":
			info.AvailableBytes, info.HasAvailable = bytes, true
		case "Buffers", "Cached":
			info.CachedBytes += bytes
		case "SReclaimable":
			info.SlabReclaimableBytes = bytes
		case "SUnreclaim":
			info.SlabUnreclaimableBytes = bytes
		}
	}
	return info, ok
}

// nextPair splits the first line, "key: 123 kB" or "key 123", off text. ok is false if the line does not have that
// form.
func nextPair(text []byte, separator byte) (key []byte, value uint64, ok bool, rest []byte) {
	at := 0
	for at < len(text) && text[at] != separator && text[at] != '\n' {
		at++
	}
	key = text[:at]
	rest = text[at:]
	if len(rest) > 0 && rest[0] == separator {
		value, rest, ok = decimal.Parse(skipSpaces(rest[1:]))
		ok = ok && (len(rest) == 0 || rest[0] == '\n' || rest[0] == ' ')
	}
	for len(rest) > 0 && rest[0] != '\n' {
		rest = rest[1:]
	}
	if len(rest) > 0 {
		rest = rest[1:]
	}
	return key, value, ok, rest
}
