// Package procfs reads /proc files that the collector samples. Parsers take bytes and do not allocate.
package procfs

import (
	"bytes"

	"github.com/jitterscope/jitterscope/collector/internal/decimal"
)

// HostCPU is the "cpu" line of /proc/stat, all CPUs together, in microseconds (the kernel counts in units of 10 ms).
// Format: Documentation/filesystems/proc.rst, 1.7.
type HostCPU struct {
	UserUS, SystemUS, IRQUS, IdleUS, IOWaitUS, StealUS uint64 // user includes nice; guest time is part of user
}

const tickUS = 10_000 // USER_HZ is 100 on every architecture that Linux supports today

// ParseHostCPU reads the first line of /proc/stat.
func ParseHostCPU(text []byte) (cpu HostCPU, ok bool) {
	if !bytes.HasPrefix(text, []byte("cpu ")) {
		return cpu, false
	}
	var fields [8]uint64
	rest := text[4:]
	for i := range fields {
		var good bool
		if fields[i], rest, good = decimal.Parse(skipSpaces(rest)); !good {
			if i < 4 {
				return cpu, false
			}
			break // an old kernel has fewer columns
		}
	}
	return HostCPU{
		UserUS: (fields[0] + fields[1]) * tickUS, SystemUS: fields[2] * tickUS, IdleUS: fields[3] * tickUS,
		IOWaitUS: fields[4] * tickUS, IRQUS: (fields[5] + fields[6]) * tickUS, StealUS: fields[7] * tickUS,
	}, true
}

// ParseRunnable reads the runnable tasks from /proc/loadavg: "0.20 0.18 0.12 1/80 11206". It is procs_running of
// /proc/stat, without that file's interrupt tables.
func ParseRunnable(text []byte) (running uint64, ok bool) {
	for range 3 {
		space := bytes.IndexByte(text, ' ')
		if space < 0 {
			return 0, false
		}
		text = text[space+1:]
	}
	running, rest, ok := decimal.Parse(text)
	return running, ok && len(rest) > 0 && rest[0] == '/'
}

// Pressure is a PSI file; some and full are the total stall times in microseconds.
// Format: Documentation/accounting/psi.rst.
type Pressure struct {
	SomeUS, FullUS uint64
	HasFull        bool // before Linux 5.13 "cpu" has no full line
}

// ParsePressure reads a PSI file.
func ParsePressure(text []byte) (p Pressure, ok bool) {
	for len(text) > 0 {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		at := bytes.Index(line, []byte("total="))
		if at < 0 {
			continue
		}
		value, _, good := decimal.Parse(line[at+len("total="):])
		switch {
		case !good:
		case bytes.HasPrefix(line, []byte("some ")):
			p.SomeUS, ok = value, true
		case bytes.HasPrefix(line, []byte("full ")):
			p.FullUS, p.HasFull = value, true
		}
	}
	return p, ok
}

// ParseResidentPages reads the second field of /proc/PID/statm.
func ParseResidentPages(text []byte) (pages uint64, ok bool) {
	_, rest, ok := decimal.Parse(text)
	if !ok || len(rest) == 0 {
		return 0, false
	}
	pages, _, ok = decimal.Parse(skipSpaces(rest))
	return pages, ok
}

func skipSpaces(text []byte) []byte {
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	return text
}
