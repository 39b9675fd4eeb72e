package oomlog

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// recordBytes is the largest record that /dev/kmsg returns.
const recordBytes = 8192

// Log is the kernel's log from now on.
type Log struct {
	// Others is called during Each with every line of the kernel that is not about a kill; it can be nil.
	Others func(text []byte)

	file   *os.File
	parser Parser
}

// Open opens a device like /dev/kmsg and seeks to its end.
func Open(path string) (*Log, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if _, err := unix.Seek(fd, 0, io.SeekEnd); err != nil {
		_ = unix.Close(fd)
		return nil, &os.PathError{Op: "seek", Path: path, Err: err}
	}
	// dmesg_restrict is checked when reading, not when opening.
	if _, err := unix.Read(fd, make([]byte, recordBytes)); err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EPIPE) {
		_ = unix.Close(fd)
		return nil, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return &Log{file: os.NewFile(uintptr(fd), path)}, nil
}

// Each calls found with each kill, as soon as the kernel has written it, until Close. Waiting uses no thread.
func (l *Log) Each(found func(Kill)) error {
	buffer := make([]byte, recordBytes)
	for {
		n, err := l.file.Read(buffer)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINVAL): // overwritten before it was read; too long
			continue
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		}
		text := message(buffer[:n])
		if kill, ok := l.parser.Line(text); ok {
			found(kill)
		} else if l.Others != nil {
			l.Others(text)
		}
	}
}

// Close ends Each.
func (l *Log) Close() error { return l.file.Close() }

// message is the text of a record: "6,339,5140900,-;text", then lines of " KEY=value". Records written by programs are
// not the kernel's: their facility is not 0.
func message(record []byte) []byte {
	header, text, ok := bytes.Cut(record, []byte{';'})
	if !ok {
		return nil
	}
	priority, _, _ := integer(header)
	if priority>>3 != 0 {
		return nil
	}
	text, _, _ = bytes.Cut(text, []byte{'\n'})
	return text
}
