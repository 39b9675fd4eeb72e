package goruntime

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Functions of the runtime whose entries mark the phases of a GC cycle.
const (
	// GCStart is entered once per cycle, after the decision to collect and before the first stop.
	GCStart = "runtime.gcBgMarkStartWorkers"
	// GCMarkTermination is entered with the world stopped, when marking is complete.
	GCMarkTermination = "runtime.gcMarkTermination"
	// StopTheWorld and StartTheWorld enclose a pause; the first start after GCMarkTermination ends the cycle.
	StopTheWorld  = "runtime.stopTheWorldWithSema"
	StartTheWorld = "runtime.startTheWorldWithSema"
)

// Phases are the functions to probe, in the order of their numbers in probe cookies.
var Phases = []string{GCStart, GCMarkTermination, StopTheWorld, StartTheWorld}

// Locate returns the file offsets of functions of the running program memory (by virtual address: /proc/PID/mem), which
// runs file. bias is what the loader added to the linked addresses, 0 for an executable with fixed addresses.
//
// A probe in the middle of an instruction would crash the program, so every address is checked twice: against the
// runtime's own record of where its text is, and against the bytes with which Go functions begin.
func Locate(file *elf.File, memory io.ReaderAt, bias uint64, names []string) (map[string]uint64, error) {
	table, err := openTable(file)
	if err != nil {
		return nil, err
	}
	offsets, err := table.offsets(names...)
	if err != nil {
		return nil, err
	}
	text, err := textStart(file, table, memory, bias)
	if err != nil {
		return nil, err
	}
	found := make(map[string]uint64, len(names))
	for _, name := range names {
		offset, ok := offsets[name]
		if !ok {
			return nil, fmt.Errorf("%s is not in the program", name)
		}
		at, err := fileOffset(file, text+offset)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found[name] = at
	}
	return found, nil
}

// Offsets in runtime.moduledata, the same from Go 1.16 to 1.26: a pointer, six slices, a pointer, then these.
const (
	moduleMinPC = 8 + 6*24 + 8
	moduleMaxPC = moduleMinPC + 8
	moduleText  = moduleMinPC + 16
	moduleBytes = moduleMinPC + 32
)

// textStart finds the linked address to which function offsets are relative. It is neither in the file of a
// position-independent program nor, since Go 1.26, in the table, so it is read from the runtime's moduledata, which
// begins with a pointer to the table.
func textStart(file *elf.File, table *pclnTable, memory io.ReaderAt, bias uint64) (uint64, error) {
	first, end, err := table.bounds()
	if err != nil {
		return 0, err
	}
	var pointer [8]byte
	binary.LittleEndian.PutUint64(pointer[:], table.address+bias)
	for _, name := range []string{".go.module", ".noptrdata", ".data.rel.ro", ".data"} {
		section := file.Section(name)
		if section == nil || section.Type == elf.SHT_NOBITS {
			continue
		}
		start := section.Addr + bias
		w := &window{source: io.NewSectionReader(memory, int64(start), int64(section.Size))}
		for at := uint64(0); at+moduleBytes <= section.Size; {
			size := min(windowBytes, section.Size-at)
			chunk, err := w.at(at, size)
			if err != nil {
				return 0, fmt.Errorf("read memory of the program: %w", err)
			}
			for k := 0; k+moduleBytes <= len(chunk); k += 8 {
				if !bytes.Equal(chunk[k:k+8], pointer[:]) {
					continue
				}
				field := func(i int) uint64 { return binary.LittleEndian.Uint64(chunk[k+i:]) }
				if text := field(moduleText); field(moduleMinPC) == text+first && field(moduleMaxPC) == text+end {
					return text - bias, nil
				}
			}
			at += size - moduleBytes&^7
			if size < windowBytes {
				break
			}
		}
	}
	return 0, errors.New("the runtime's module data were not found")
}

// fileOffset converts the linked address of a function to an offset in the file and checks that a Go function begins
// there.
func fileOffset(file *elf.File, address uint64) (uint64, error) {
	for _, segment := range file.Progs {
		if segment.Type != elf.PT_LOAD || segment.Flags&elf.PF_X == 0 ||
			address < segment.Vaddr || address+16 > segment.Vaddr+segment.Filesz {
			continue
		}
		var code [16]byte
		if _, err := segment.ReadAt(code[:], int64(address-segment.Vaddr)); err != nil {
			return 0, err
		}
		if !beginsGoFunction(file.Machine, code[:]) {
			return 0, fmt.Errorf("no Go function begins at %#x: % x", address, code)
		}
		return address - segment.Vaddr + segment.Off, nil
	}
	return 0, fmt.Errorf("%#x is not in the program's code", address)
}

// beginsGoFunction recognizes the stack check with which the functions in Phases begin (cmd/internal/obj/x86/obj6.go,
// arm64/obj7.go).
func beginsGoFunction(machine elf.Machine, code []byte) bool {
	switch machine {
	case elf.EM_X86_64:
		// LEAQ -n(SP), R12 if the frame is large, then CMPQ SP or R12 with 16(R14), or 24(R14) in functions that run on
		// the system stack.
		switch {
		case bytes.HasPrefix(code, []byte{0x4c, 0x8d, 0x64, 0x24}):
			return bytes.HasPrefix(code[5:], []byte{0x4d, 0x3b, 0x66}) && stackGuard(code[8])
		case bytes.HasPrefix(code, []byte{0x4c, 0x8d, 0xa4, 0x24}):
			return bytes.HasPrefix(code[8:], []byte{0x4d, 0x3b, 0x66}) && stackGuard(code[11])
		}
		return bytes.HasPrefix(code, []byte{0x49, 0x3b, 0x66}) && stackGuard(code[3])
	case elf.EM_AARCH64:
		// MOVD 16(g), R16 or MOVD 24(g), R16.
		first := binary.LittleEndian.Uint32(code)
		return first == 0xf9400b90 || first == 0xf9400f90
	}
	return false
}

// stackGuard reports whether offset is that of g.stackguard0 or g.stackguard1.
func stackGuard(offset byte) bool { return offset == 0x10 || offset == 0x18 }
