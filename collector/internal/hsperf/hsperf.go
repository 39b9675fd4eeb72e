// Package hsperf reads the performance data that a HotSpot JVM shares in /tmp/hsperfdata_USER/PID (jstat reads it too):
// a file that the JVM maps and writes. Format: perfMemory.hpp and perfMemory_posix.cpp of OpenJDK.
package hsperf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	magic         = 0xcafec0c0 // big-endian on any machine
	prologueBytes = 32
	entryBytes    = 20
	entriesMost   = 4096
	// BytesMost bounds what is read of a file; -XX:PerfDataMemorySize is 32 KiB by default.
	BytesMost = 256 << 10
)

// Unit of an entry (perfData.hpp, PerfData::Units).
const unitString = 5

var errFormat = errors.New("not the performance data of a JVM")

// Layout is where the values are in the file of one JVM. Entries are only ever added, while the JVM starts.
type Layout struct {
	order   binary.ByteOrder
	offsets map[string]place
	used    int
}

type place struct {
	at, length int // length 0: a number of 8 bytes
}

// Parse reads the table of entries. It fails if the JVM has not created all of them yet.
func Parse(data []byte) (*Layout, error) {
	if len(data) < prologueBytes || binary.BigEndian.Uint32(data) != magic {
		return nil, errFormat
	}
	l := &Layout{order: binary.ByteOrder(binary.BigEndian), offsets: make(map[string]place)}
	if data[4] == 1 {
		l.order = binary.LittleEndian
	}
	if major := data[5]; major != 2 {
		return nil, fmt.Errorf("format version %d.%d is unknown", major, data[6])
	}
	if data[7] == 0 {
		return nil, errors.New("the JVM is still starting")
	}
	used, entry, count := l.int(data, 8), l.int(data, 24), l.int(data, 28)
	if used > len(data) || entry < prologueBytes || count > entriesMost {
		return nil, errFormat
	}
	l.used = used
	for range count {
		if entry < 0 || entry+entryBytes > used {
			return nil, errFormat
		}
		length, name, vector, value := l.int(data, entry), l.int(data, entry+4), l.int(data, entry+8), l.int(data, entry+16)
		if length < entryBytes || length > used-entry || name < entryBytes || name >= length || value < name || vector < 0 ||
			value+max(vector, 8) > length && (vector == 0 || value+vector > length) {
			return nil, errFormat
		}
		text, _, ok := bytes.Cut(data[entry+name:entry+length], []byte{0})
		if !ok {
			return nil, errFormat
		}
		p := place{at: entry + value}
		switch {
		case vector > 0 && data[entry+14] == unitString:
			p.length = vector
			l.offsets[string(text)] = p
		case vector == 0 && data[entry+12] == 'J':
			l.offsets[string(text)] = p
		}
		entry += length
	}
	return l, nil
}

func (l *Layout) int(data []byte, at int) int { return int(int32(l.order.Uint32(data[at:]))) }

// Used is how many bytes of the file hold entries.
func (l *Layout) Used() int { return l.used }

// Number is the place of a value in the file; the zero Number stands for a value that the JVM does not have.
type Number struct {
	order binary.ByteOrder
	at    int
}

// Number finds a value by its name.
func (l *Layout) Number(name string) Number {
	if p, ok := l.offsets[name]; ok && p.length == 0 {
		return Number{l.order, p.at}
	}
	return Number{}
}

// Known reports whether the JVM has the value.
func (n Number) Known() bool { return n.order != nil }

// In reads the value from the content of the file, 0 if the JVM does not have it. It does not allocate.
func (n Number) In(data []byte) int64 {
	if n.order == nil || n.at+8 > len(data) {
		return 0
	}
	return int64(n.order.Uint64(data[n.at:]))
}

// String is the place of a string in the file.
type String struct{ place }

// String finds a string by its name.
func (l *Layout) String(name string) String {
	if p, ok := l.offsets[name]; ok && p.length > 0 {
		return String{p}
	}
	return String{}
}

// In reads the string, which is valid as long as data is. It does not allocate.
func (s String) In(data []byte) []byte {
	if s.at+s.length > len(data) {
		return nil
	}
	text := data[s.at : s.at+s.length]
	if end := bytes.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	return text
}

// Text reads a string, "" if the JVM does not have it.
func (l *Layout) Text(data []byte, name string) string { return string(l.String(name).In(data)) }
