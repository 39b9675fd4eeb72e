package procfs

import (
	"bytes"

	"github.com/jitterscope/jitterscope/collector/internal/decimal"
)

// ProcessStat is what the flight recorder reads from /proc/PID/stat. Times are in microseconds; the kernel counts in
// units of 10 ms. Format: Documentation/filesystems/proc.rst, 1.2.
type ProcessStat struct {
	Command          []byte // a slice of the parsed text
	State            byte   // of the first thread: R, S, D, …
	UserUS, SystemUS uint64 // of all threads, including ended ones
	Threads          uint64
	StartTicks       uint64 // since boot, in units of 10 ms; together with the PID it identifies the process uniquely
}

// ParseProcessStat parses /proc/PID/stat. The command can contain anything: the last parenthesis closes it.
func ParseProcessStat(text []byte) (stat ProcessStat, ok bool) {
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if begin < 0 || end < begin || len(text) < end+4 || text[end+1] != ' ' || text[end+3] != ' ' {
		return stat, false
	}
	stat.Command, stat.State = text[begin+1:end], text[end+2]
	rest := text[end+4:] // at field 4
	for field := 4; field <= 22; field++ {
		var value uint64
		if len(rest) > 0 && rest[0] == '-' { // the terminal's process group and nice values
			rest = rest[1:]
		}
		if value, rest, ok = decimal.Parse(rest); !ok || len(rest) == 0 || rest[0] != ' ' {
			return stat, false
		}
		rest = rest[1:]
		switch field {
		case 14:
			stat.UserUS = value * tickUS
		case 15:
			stat.SystemUS = value * tickUS
		case 20:
			stat.Threads = value
		case 22:
			stat.StartTicks = value
		}
	}
	return stat, true
}
