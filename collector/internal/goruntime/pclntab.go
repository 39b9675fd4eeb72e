// Package goruntime identifies a running Go program and finds its runtime's functions, from the binary and from the
// process's memory, stripped or not, position-independent or not.
package goruntime

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The pc-line table is what the runtime itself uses to name functions in stack traces, so stripping cannot remove it.
// Layout: runtime/symtab.go, debug/gosym. It is read in windows, because that of a large program has tens of megabytes.
const (
	magicGo118 = 0xfffffff0
	magicGo120 = 0xfffffff1

	pclnHeaderBytes = 8 + 8*8
	maxFunctions    = 4 << 20
)

// ErrNoTable means that the binary has no readable pc-line table: not Go, or older than Go 1.18.
var ErrNoTable = errors.New("no pc-line table of Go 1.18 or newer")

type pclnTable struct {
	address   uint64 // of the table, as linked
	size      uint64
	functions uint64
	names     uint64 // offsets from the table's start
	namesEnd  uint64
	functab   uint64
	window    *window
}

// openTable finds the pc-line table of a 64-bit little-endian ELF binary.
func openTable(file *elf.File) (*pclnTable, error) {
	if file.Class != elf.ELFCLASS64 || file.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("%w: not a 64-bit little-endian binary", ErrNoTable)
	}
	for _, section := range file.Sections {
		// ".gopclntab", or ".data.rel.ro.gopclntab" if it needs relocation.
		if !strings.HasSuffix(section.Name, ".gopclntab") || section.Type == elf.SHT_NOBITS {
			continue
		}
		table := &pclnTable{address: section.Addr, size: section.Size, window: &window{source: section}}
		return table, table.readHeader()
	}
	return nil, ErrNoTable
}

func (t *pclnTable) readHeader() error {
	raw, err := t.window.at(0, pclnHeaderBytes)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoTable, err)
	}
	magic := binary.LittleEndian.Uint32(raw)
	if (magic != magicGo118 && magic != magicGo120) || raw[4] != 0 || raw[5] != 0 || raw[7] != 8 {
		return fmt.Errorf("%w: magic %#x", ErrNoTable, magic)
	}
	field := func(i int) uint64 { return binary.LittleEndian.Uint64(raw[8+8*i:]) }
	t.functions, t.names, t.namesEnd, t.functab = field(0), field(3), field(4), field(7)
	if t.functions == 0 || t.functions > maxFunctions || t.names > t.namesEnd || t.namesEnd > t.size ||
		t.functab > t.size || t.functab+8*t.functions+4 > t.size {
		return fmt.Errorf("%w: damaged header", ErrNoTable)
	}
	return nil
}

// offsets returns, for each name found, the function's offset from the start of the program text.
func (t *pclnTable) offsets(names ...string) (map[string]uint64, error) {
	byNameOffset, err := t.nameOffsets(names)
	if err != nil {
		return nil, err
	}
	found := make(map[string]uint64, len(names))
	functions := &window{source: t.window.source} // after the table of entries, in the same order
	for i := uint64(0); i < t.functions && len(found) < len(byNameOffset); i++ {
		entry, err := t.window.at(t.functab+8*i, 8)
		if err != nil {
			return nil, err
		}
		text := binary.LittleEndian.Uint32(entry)
		function, err := functions.at(t.functab+uint64(binary.LittleEndian.Uint32(entry[4:])), 8)
		if err != nil {
			return nil, err
		}
		if name, ok := byNameOffset[binary.LittleEndian.Uint32(function[4:])]; ok {
			if _, twice := found[name]; !twice {
				found[name] = uint64(text)
			}
		}
	}
	return found, nil
}

// bounds returns the offsets of the first function and of the end of the last one.
func (t *pclnTable) bounds() (first, end uint64, err error) {
	raw, err := t.window.at(t.functab, 4)
	if err != nil {
		return 0, 0, err
	}
	first = uint64(binary.LittleEndian.Uint32(raw))
	if raw, err = t.window.at(t.functab+8*t.functions, 4); err != nil {
		return 0, 0, err
	}
	return first, uint64(binary.LittleEndian.Uint32(raw)), nil
}

// nameOffsets searches the table of NUL-terminated names.
func (t *pclnTable) nameOffsets(names []string) (map[uint32]string, error) {
	wanted := make([][]byte, len(names))
	for i, name := range names {
		wanted[i] = []byte("\x00" + name + "\x00")
	}
	const overlap = 256 // longer than any wanted name
	found := make(map[uint32]string, len(names))
	for at := t.names; at < t.namesEnd; at += windowBytes - overlap {
		size := min(windowBytes, t.namesEnd-at)
		chunk, err := t.window.at(at, size)
		if err != nil {
			return nil, err
		}
		for i, name := range wanted {
			if k := bytes.Index(chunk, name); k >= 0 {
				found[uint32(at-t.names)+uint32(k)+1] = names[i]
			}
		}
		if size < windowBytes {
			break
		}
	}
	return found, nil
}

const windowBytes = 64 << 10

// window reads a large table through a small buffer.
type window struct {
	source io.ReaderAt
	start  uint64
	buffer []byte
}

// at returns size bytes at offset, at most windowBytes, valid until the next call.
func (w *window) at(offset, size uint64) ([]byte, error) {
	if offset >= w.start && offset+size <= w.start+uint64(len(w.buffer)) {
		return w.buffer[offset-w.start:][:size], nil
	}
	if cap(w.buffer) < windowBytes {
		w.buffer = make([]byte, windowBytes)
	}
	n, err := w.source.ReadAt(w.buffer[:windowBytes], int64(offset))
	w.start, w.buffer = offset, w.buffer[:n]
	if uint64(n) < size {
		return nil, fmt.Errorf("read table: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return w.buffer[:size], nil
}
