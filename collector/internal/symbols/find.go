package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const exportedNamesMost = 64 << 20

// Exported is a symbol that a file exports.
type Exported struct {
	Address uint64 // as linked
	Offset  uint64 // in the file
}

// FindExported finds symbols by name in a 64-bit little-endian file. Those that the file does not have are left out.
// The tables, 7 MiB for Node.js, are streamed.
func FindExported(source io.ReaderAt, wanted ...string) (map[string]Exported, error) {
	file, err := OpenELF(source)
	if err != nil {
		return nil, err
	}
	table := file.SectionByType(elf.SHT_DYNSYM)
	if table == nil || table.Size > tableMost || table.Link == 0 || int(table.Link) >= len(file.Sections) {
		return nil, errNoSymbols
	}
	names := file.Sections[table.Link]
	if names.ReaderAt == nil || names.Size > exportedNamesMost {
		return nil, errNoSymbols
	}
	references := make(map[uint32]string)
	for _, name := range wanted {
		err := search(names, names.Size, append([]byte(name), 0), func(at uint64, _ []byte) bool {
			references[uint32(at)] = name
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	found := make(map[string]Exported)
	err = eachSymbol(table, func(raw []byte) {
		name, ok := references[binary.LittleEndian.Uint32(raw)]
		if !ok || binary.LittleEndian.Uint16(raw[6:]) == uint16(elf.SHN_UNDEF) {
			return
		}
		address := binary.LittleEndian.Uint64(raw[8:])
		if offset, err := FileOffset(file, address); err == nil {
			found[name] = Exported{address, offset}
		}
	})
	return found, err
}

// FileOffset is the offset in the file of what is linked at an address.
func FileOffset(file *elf.File, address uint64) (uint64, error) {
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_LOAD && address >= segment.Vaddr && address < segment.Vaddr+segment.Filesz {
			return address - segment.Vaddr + segment.Off, nil
		}
	}
	return 0, fmt.Errorf("%#x is not in the file", address)
}

// SearchData looks for a text among the constants of a file, and returns what follows it: "" if it is absent.
func SearchData(source io.ReaderAt, text string, length int) (string, error) {
	file, err := OpenELF(source)
	if err != nil {
		return "", err
	}
	constants := file.Section(".rodata")
	if constants == nil || constants.ReaderAt == nil || constants.Size > exportedNamesMost {
		return "", errNoSymbols
	}
	following := ""
	err = search(constants, constants.Size, []byte(text), func(_ uint64, rest []byte) bool {
		following = string(rest[:min(length, len(rest))])
		return false
	})
	return following, err
}

// search visits the places of a text until visit returns false. rest is at least 64 bytes of what follows, if there are
// that many.
func search(source io.ReaderAt, size uint64, text []byte, visit func(at uint64, rest []byte) bool) error {
	const step, follows = 256 << 10, 64
	buffer := make([]byte, step+len(text)+follows)
	for start := uint64(0); start < size; start += step {
		n, err := source.ReadAt(buffer[:min(uint64(len(buffer)), size-start)], int64(start))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for from := 0; ; {
			at := bytes.Index(buffer[from:n], text)
			if at < 0 || from+at >= step { // the next piece begins there
				break
			}
			from += at
			if !visit(start+uint64(from), buffer[from+len(text):n]) {
				return nil
			}
			from++
		}
	}
	return nil
}

// eachSymbol visits the raw entries of a symbol table.
func eachSymbol(table *elf.Section, visit func(raw []byte)) error {
	buffer := make([]byte, 2048*symbolBytes)
	for at := uint64(0); at < table.Size; at += uint64(len(buffer)) {
		n, err := table.ReadAt(buffer[:min(uint64(len(buffer)), table.Size-at)], int64(at))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for raw := buffer[:n]; len(raw) >= symbolBytes; raw = raw[symbolBytes:] {
			visit(raw[:symbolBytes])
		}
	}
	return nil
}
