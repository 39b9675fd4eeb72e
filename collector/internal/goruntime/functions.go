package goruntime

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Functions resolves addresses of a running Go program to its functions, stripped or not.
type Functions struct {
	table  *pclnTable
	text   uint64 // as linked
	buffer [longestName]byte
}

// OpenFunctions reads the table of a process that runs file. It needs permission to ptrace the process (to read its
// memory).
func OpenFunctions(proc string, pid int, file *elf.File) (*Functions, error) {
	for _, section := range file.Sections { // the text is found by searching the data
		if section.ReaderAt == nil && strings.HasSuffix(section.Name, ".gopclntab") {
			return nil, fmt.Errorf("%s is compressed, which no linker produces", section.Name)
		}
		if section.Flags&elf.SHF_WRITE != 0 && section.Type != elf.SHT_NOBITS && section.Size > dataMost {
			return nil, fmt.Errorf("%s has %d bytes", section.Name, section.Size)
		}
	}
	table, err := openTable(file)
	if err != nil {
		return nil, err
	}
	directory := proc + "/" + strconv.Itoa(pid)
	memory, err := os.Open(directory + "/mem")
	if err != nil {
		return nil, err
	}
	defer func() { _ = memory.Close() }()
	bias, err := loadBias(proc, pid, file)
	if err != nil {
		return nil, err
	}
	text, err := textStart(file, table, memory, bias)
	if err != nil {
		return nil, err
	}
	return &Functions{table: table, text: text}, nil
}

// dataMost is more than any program has; a hostile one can claim any size.
const dataMost = 64 << 20

// longestName is how much of a function's name is read.
const longestName = 512

// read reads a few bytes of the table. A binary search jumps: the table's window would be refilled for each step.
func (f *Functions) read(offset, size uint64) ([]byte, bool) {
	n, _ := f.table.window.source.ReadAt(f.buffer[:size], int64(offset))
	return f.buffer[:size], uint64(n) == size
}

// At returns the function at an address, as linked.
func (f *Functions) At(address uint64) (start, end uint64, name string, ok bool) {
	if address < f.text {
		return 0, 0, "", false
	}
	offset := address - f.text
	low, high := uint64(0), f.table.functions // the function is in [low, high)
	for high-low > 1 {
		middle := (low + high) / 2
		entry, ok := f.read(f.table.functab+8*middle, 4)
		if !ok {
			return 0, 0, "", false
		}
		if uint64(binary.LittleEndian.Uint32(entry)) <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	entry, ok := f.read(f.table.functab+8*low, 12) // the next one's start follows, even after the last
	if !ok {
		return 0, 0, "", false
	}
	first, last := uint64(binary.LittleEndian.Uint32(entry)), uint64(binary.LittleEndian.Uint32(entry[8:]))
	info := uint64(binary.LittleEndian.Uint32(entry[4:]))
	if offset < first || offset >= last {
		return 0, 0, "", false
	}
	function, ok := f.read(f.table.functab+info, 8)
	if !ok {
		return 0, 0, "", false
	}
	at := f.table.names + uint64(binary.LittleEndian.Uint32(function[4:]))
	if at >= f.table.namesEnd {
		return 0, 0, "", false
	}
	text, ok := f.read(at, min(longestName, f.table.namesEnd-at))
	if !ok {
		return 0, 0, "", false
	}
	if nul := bytes.IndexByte(text, 0); nul >= 0 {
		text = text[:nul]
	}
	return f.text + first, f.text + last, string(text), len(text) > 0
}
