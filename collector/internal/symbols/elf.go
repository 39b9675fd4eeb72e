package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
)

// tableMost bounds the symbol table that is streamed: that of a browser takes 1 s.
const tableMost = 24 << 20

const (
	symbolBytes = 24 // Elf64_Sym: name u32, info u8, other u8, section u16, value u64, size u64
	nameMost    = 512
)

var errNoSymbols = errors.New("the file has no symbols")

// OpenELF is elf.NewFile for untrusted files: elf.NewFile reads the names of all sections, however long they claim to
// be.
func OpenELF(source io.ReaderAt) (*elf.File, error) {
	const sectionsMost, namesMost = 1024, 1 << 20
	var header [64]byte
	if _, err := source.ReadAt(header[:], 0); err != nil {
		return nil, err
	}
	if string(header[:6]) != "\x7fELF\x02\x01" { // 64 bits, little-endian
		return nil, errNoSymbols
	}
	sections, size := binary.LittleEndian.Uint64(header[40:]), binary.LittleEndian.Uint16(header[58:])
	count, names := binary.LittleEndian.Uint16(header[60:]), binary.LittleEndian.Uint16(header[62:])
	if size != 64 || count == 0 || count > sectionsMost || names >= count || sections > 1<<40 {
		return nil, errNoSymbols
	}
	var section [64]byte
	if _, err := source.ReadAt(section[:], int64(sections)+int64(names)*64); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint64(section[32:]) > namesMost {
		return nil, errNoSymbols
	}
	return elf.NewFile(source)
}

// resolveELF finds the functions at addresses, as linked, of a 64-bit little-endian ELF file: in its symbol table or,
// if that was stripped, in the table of its exports. budget is how many more bytes of symbol tables can be read.
func resolveELF(file *elf.File, addresses []uint64, budget *uint64, yield func(Span)) error {
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		table := file.SectionByType(kind)
		if table == nil || table.Size > min(tableMost, *budget) || table.Flags&elf.SHF_COMPRESSED != 0 ||
			table.Link == 0 || int(table.Link) >= len(file.Sections) || file.Sections[table.Link].ReaderAt == nil {
			continue
		}
		*budget -= table.Size
		wanted := newNearest(addresses)
		if err := streamSymbols(table, wanted); err != nil {
			return err
		}
		names := file.Sections[table.Link]
		wanted.finish(func(span Span, reference uint64, _ []byte) {
			if name := nameAt(names, reference); name != "" {
				span.Name = name
				yield(span)
			}
		})
		return nil
	}
	return errNoSymbols
}

func streamSymbols(table *elf.Section, wanted *nearest) error {
	return eachSymbol(table, func(raw []byte) {
		kind := elf.ST_TYPE(raw[4])
		if (kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC && kind != elf.STT_NOTYPE) ||
			binary.LittleEndian.Uint16(raw[6:]) == uint16(elf.SHN_UNDEF) {
			return
		}
		value, size := binary.LittleEndian.Uint64(raw[8:]), binary.LittleEndian.Uint64(raw[16:])
		if value == 0 || (kind == elf.STT_NOTYPE && size == 0) {
			return
		}
		wanted.offer(value, size, uint64(binary.LittleEndian.Uint32(raw)), nil)
	})
}

// nameAt reads a NUL-terminated name.
func nameAt(names *elf.Section, offset uint64) string {
	buffer := make([]byte, nameMost)
	n, _ := names.ReadAt(buffer, int64(offset))
	for i, letter := range buffer[:n] {
		if letter == 0 {
			return string(buffer[:i])
		}
	}
	return string(buffer[:n])
}

// linkedAddress converts an offset in the file to the address for which the code there was linked.
func linkedAddress(file *elf.File, offset uint64) (uint64, bool) {
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_LOAD && segment.Flags&elf.PF_X != 0 && offset >= segment.Off && offset < segment.Off+segment.Filesz {
			return offset - segment.Off + segment.Vaddr, true
		}
	}
	return 0, false
}
