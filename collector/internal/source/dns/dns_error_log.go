package dns

import (
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnslog"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

// dnsErrorTriggerEvery bounds how often a server with continuing errors requests a diagnosis; slow queries also request
// one.
const dnsErrorTriggerEvery = 5 * time.Second

// oldestLine is how late a line can be read before its time is doubted.
const oldestLine = time.Minute

// serverLog is the log of one server process and its errors that have not been reported yet.
type serverLog struct {
	process   *procwatch.Process
	files     []*logFile
	unit      string // whose lines come from the journal
	groups    [dnslog.Kinds]errorGroup
	triggered time.Time
	missed    uint64 // bytes of closed files
}

type logFile struct {
	id     dnslog.FileID
	tail   *dnslog.Tail
	unwrap dnslog.Unwrapper
	old    bool // replaced by another one: it is closed after the next read
}

// errorGroup is the errors of one kind since the last event.
type errorGroup struct {
	count       int
	first, last time.Time
	description dnslog.Description // of the first
	told        time.Time          // time of the last event
}

// follow opens new files and closes those that no longer exist.
func (l *serverLog) follow(targets []dnslog.Target) error {
	var failed error
	first := len(l.files) == 0
	for _, file := range l.files {
		file.old = true
	}
	for _, target := range targets {
		known := false
		for _, file := range l.files {
			if file.id == target.ID {
				file.old, known = false, true
			}
		}
		if known {
			continue
		}
		// The existing content of a log is history, but that of a file that a container runtime creates while it is
		// followed is not.
		tail, err := dnslog.OpenTail(target.Path, target.Container && !first)
		if err != nil {
			failed = err
			continue
		}
		l.files = append(l.files, &logFile{id: target.ID, tail: tail})
	}
	return failed
}

// read reads what was written since the last read.
func (l *serverLog) read(buffer []byte) {
	kept := l.files[:0]
	for _, file := range l.files {
		err := file.tail.Read(buffer, func(line []byte, written time.Time) {
			text, at, whole := file.unwrap.Unwrap(line)
			if at.IsZero() {
				at = written
			}
			if whole {
				l.take(text, at)
			}
		})
		if err != nil || file.old {
			l.missed += file.tail.Skipped
			file.tail.Close()
			continue
		}
		kept = append(kept, file)
	}
	clear(l.files[len(kept):])
	l.files = kept
}

// take counts a line if it is an error.
func (l *serverLog) take(line []byte, at time.Time) {
	kind, count, isError := dnslog.Classify(line)
	if !isError {
		return
	}
	// The line's own clock can be wrong, or the line old.
	if now := time.Now(); at.After(now) || now.Sub(at) > oldestLine {
		at = now
	}
	group := &l.groups[kind]
	if group.count == 0 {
		group.first, group.last, group.description = at, at, dnslog.Describe(line)
	}
	group.count += count
	if at.After(group.last) {
		group.last = at
	}
}

func (g *errorGroup) attributes(kind int) map[string]string {
	attributes := map[string]string{
		"kind": dnslog.KindNames[kind], "count": strconv.Itoa(g.count), "line": g.description.Line,
	}
	if g.description.Upstream != "" {
		attributes["upstream"] = g.description.Upstream
	}
	if g.description.Name != "" {
		attributes["name"] = g.description.Name
	}
	return attributes
}

func (l *serverLog) skipped() (bytes uint64) {
	bytes = l.missed
	for _, file := range l.files {
		bytes += file.tail.Skipped
	}
	return bytes
}

func (l *serverLog) close() (skipped uint64) {
	skipped = l.skipped()
	for _, file := range l.files {
		file.tail.Close()
	}
	l.files = nil
	return skipped
}
