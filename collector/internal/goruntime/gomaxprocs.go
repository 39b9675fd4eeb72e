package goruntime

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strconv"
)

// ErrNoGOMAXPROCS means that the variable was not found: another architecture, or a Go release with different code.
var ErrNoGOMAXPROCS = errors.New("runtime.gomaxprocs was not found")

// GOMAXPROCS is where a running program keeps its runtime.gomaxprocs.
type GOMAXPROCS struct{ address uint64 }

const maxProcs = 1 << 14

// FindGOMAXPROCS finds the variable in a running program, stripped or not. Symbols are not needed: GCStart begins by
// comparing two counters, "for gcBgMarkWorkerCount < gomaxprocs", and the instructions contain their addresses.
func FindGOMAXPROCS(proc string, pid int) (GOMAXPROCS, error) {
	directory := proc + "/" + strconv.Itoa(pid)
	file, err := elf.Open(directory + "/exe")
	if err != nil {
		return GOMAXPROCS{}, err
	}
	defer func() { _ = file.Close() }()
	if file.Machine != elf.EM_X86_64 {
		return GOMAXPROCS{}, ErrNoGOMAXPROCS
	}
	offsets, err := LocateInProcess(proc, pid, []string{GCStart})
	if err != nil {
		return GOMAXPROCS{}, err
	}
	bias, err := loadBias(proc, pid, file)
	if err != nil {
		return GOMAXPROCS{}, err
	}
	for _, segment := range file.Progs {
		offset := offsets[GCStart] - segment.Off
		if segment.Type != elf.PT_LOAD || segment.Flags&elf.PF_X == 0 || offset >= segment.Filesz {
			continue
		}
		var code [96]byte
		if _, err := segment.ReadAt(code[:], int64(offset)); err != nil && !errors.Is(err, io.EOF) {
			return GOMAXPROCS{}, err
		}
		if operand, ok := comparedWith(code[:]); ok {
			return GOMAXPROCS{address: segment.Vaddr + offset + uint64(operand) + bias}, nil
		}
	}
	return GOMAXPROCS{}, ErrNoGOMAXPROCS
}

// comparedWith finds "MOVL worker count(IP), register; CMPL gomaxprocs(IP), register; conditional jump" and returns the
// second address, relative to the function's start.
func comparedWith(code []byte) (operand int64, ok bool) {
	relative := func(at int) int64 { // of a six-byte instruction with an IP-relative operand
		return int64(at) + 6 + int64(int32(binary.LittleEndian.Uint32(code[at+2:])))
	}
	loaded, register := -1, byte(0)
	for at := 0; at+8 <= len(code); at++ {
		modRM := code[at+1]
		if modRM&0xc7 != 0x05 { // IP-relative
			continue
		}
		switch code[at] {
		case 0x8b: // MOVL
			loaded, register = at, modRM
		case 0x39, 0x3b: // CMPL
			jump := code[at+6]
			if loaded >= 0 && at-loaded <= 16 && modRM == register && jump >= 0x7c && jump <= 0x7f {
				return relative(at), true
			}
		}
	}
	return 0, false
}

// Read returns the value in effect now.
func (g GOMAXPROCS) Read(proc string, pid int) (int, error) {
	memory, err := os.Open(proc + "/" + strconv.Itoa(pid) + "/mem")
	if err != nil {
		return 0, err
	}
	defer func() { _ = memory.Close() }()
	var raw [4]byte
	if _, err := memory.ReadAt(raw[:], int64(g.address)); err != nil {
		return 0, err
	}
	value := int32(binary.LittleEndian.Uint32(raw[:]))
	if value < 1 || value > maxProcs {
		return 0, ErrNoGOMAXPROCS
	}
	return int(value), nil
}
