package dnslog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A log that grows faster than this between two reads is read from its end; the bytes in between are counted as
	// skipped. At four reads per second that is 1 MiB/s, some 8,000 error lines/s.
	maxReading = 256 << 10
	// A line is used up to this length; the rest of it is dropped.
	maxLineBytes = 8 << 10
	chunkBytes   = 32 << 10
)

// FileID identifies a file: two paths, or a path and a descriptor, can be the same file.
type FileID struct{ device, inode uint64 }

// Identify returns the identity of the regular file at a path, or behind a descriptor in /proc/PID/fd.
func Identify(path string) (FileID, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return FileID{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return FileID{}, errNotRegular
	}
	return FileID{uint64(stat.Dev), stat.Ino}, nil
}

var errNotRegular = errors.New("not a regular file")

// Tail reads what is appended to a file.
type Tail struct {
	Skipped uint64 // bytes that were not examined

	file    *os.File
	offset  int64
	partial []byte // a line whose end is still to come
	dropped bool   // the rest of the current line is dropped
}

// OpenTail opens a file at its end, or at its start where fromStart.
func OpenTail(path string, fromStart bool) (*Tail, error) {
	// Nonblocking: the path can have become a pipe since it was checked.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	t := &Tail{file: file}
	if !fromStart {
		t.offset = info.Size()
	}
	return t, nil
}

// Read calls visit with each line completed since the last call and the time when the file was last written. buffer is
// scratch space of at least chunkBytes.
func (t *Tail) Read(buffer []byte, visit func(line []byte, written time.Time)) error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size < t.offset { // truncated, as copytruncate of logrotate does
		t.offset, t.partial, t.dropped = 0, t.partial[:0], false
	}
	if behind := size - t.offset - maxReading; behind > 0 {
		t.Skipped += uint64(behind)
		t.offset += behind
		t.partial, t.dropped = t.partial[:0], true // this is the middle of a line
	}
	for t.offset < size {
		n, err := t.file.ReadAt(buffer[:min(int64(len(buffer)), size-t.offset)], t.offset)
		t.offset += int64(n)
		t.split(buffer[:n], func(line []byte) { visit(line, info.ModTime()) })
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// split cuts text into lines.
func (t *Tail) split(text []byte, visit func(line []byte)) {
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			t.keep(text)
			return
		}
		line := text[:end]
		text = text[end+1:]
		if len(t.partial) > 0 || t.dropped {
			t.keep(line)
			line = t.partial
		}
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) > 0 {
			visit(line[:min(len(line), maxLineBytes)])
		}
		t.partial, t.dropped = t.partial[:0], false
	}
}

// keep adds to the line whose end is still to come.
func (t *Tail) keep(text []byte) {
	if t.dropped {
		return
	}
	room := maxLineBytes - len(t.partial)
	t.partial = append(t.partial, text[:min(room, len(text))]...)
	t.dropped = len(text) > room
}

// Close closes the file.
func (t *Tail) Close() { _ = t.file.Close() }
