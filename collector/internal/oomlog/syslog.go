package oomlog

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// Buffer is the kernel's log if no device provides it, as in containers: its content is read as a whole, so it is read
// only when a process was killed.
type Buffer struct {
	parser Parser
	last   uint64 // microseconds since boot of the last line that was examined
}

// syslog(2) actions, and how much of the end of the log is read: a kill writes some kilobytes, more if many processes
// are listed.
const (
	syslogReadAll = 3
	syslogBytes   = 128 << 10
)

var errNoTimes = errors.New("the kernel's log has no times (printk.time is off)")

// OpenBuffer starts at the end of the log. It needs CAP_SYSLOG if kernel.dmesg_restrict is set.
func OpenBuffer() (*Buffer, error) {
	text, err := readSyslog()
	if err != nil {
		return nil, err
	}
	b := &Buffer{}
	b.add(text, func(Kill) {})
	if b.last == 0 && len(text) > 0 {
		return nil, errNoTimes
	}
	return b, nil
}

// Poll calls found with the kills since the last call.
func (b *Buffer) Poll(found func(Kill)) error {
	text, err := readSyslog()
	if err == nil {
		b.add(text, found)
	}
	return err
}

func readSyslog() ([]byte, error) {
	buffer := make([]byte, syslogBytes)
	n, err := unix.Klogctl(syslogReadAll, buffer)
	if err != nil {
		return nil, fmt.Errorf("syslog: %w", err)
	}
	return buffer[:n], nil
}

// add examines lines like "<4>[39121.811588] text" that are newer than those before. Times of lines never decrease.
func (b *Buffer) add(text []byte, found func(Kill)) {
	newest := b.last
	for len(text) > 0 {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		us, kernel, message, ok := splitLine(line)
		if !ok || us <= b.last {
			continue
		}
		newest = max(newest, us)
		if !kernel {
			continue
		}
		if kill, ok := b.parser.Line(message); ok {
			found(kill)
		}
	}
	b.last = newest
}

// splitLine takes the priority, the time and, if the kernel names it, the thread ("[   37.1][ T9185]") off a line.
func splitLine(line []byte) (us uint64, kernel bool, message []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte{'<'})
	priority, rest, ok2 := bytes.Cut(rest, []byte(">["))
	stamp, rest, ok3 := bytes.Cut(rest, []byte{']'})
	if !ok || !ok2 || !ok3 {
		return 0, false, nil, false
	}
	facility, err := strconv.Atoi(string(priority))
	seconds, fraction, ok := bytes.Cut(bytes.TrimLeft(stamp, " "), []byte{'.'})
	whole, errWhole := strconv.ParseUint(string(seconds), 10, 40)
	part, errPart := strconv.ParseUint(string(fraction), 10, 32)
	if err != nil || errWhole != nil || errPart != nil || !ok || len(fraction) != 6 {
		return 0, false, nil, false
	}
	if thread, behind, ok := bytes.Cut(rest, []byte("] ")); ok && bytes.HasPrefix(thread, []byte{'['}) {
		rest = behind
	}
	return whole*1_000_000 + part, facility>>3 == 0, bytes.TrimPrefix(rest, []byte{' '}), true
}
