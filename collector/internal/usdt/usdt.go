// Package usdt reads the static probe points of programs, the notes of SystemTap's sys/sdt.h.
// Format: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
package usdt

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/jitterscope/jitterscope/collector/internal/symbols"
)

// Point is one probe point; a name can have several.
type Point struct {
	Provider, Name string
	Offset         uint64 // in the file
	Semaphore      uint64 // offset in the file of the counter that enables it, 0 if there is none
	Arguments      string // "-4@112(%rsp) 8@%rax": size, negative if signed, and where it is
}

const (
	noteMost = 1 << 20
	noteType = 3
)

// ErrNone says that a file has no static probe points.
var ErrNone = errors.New("the program was built without static probe points")

// Points lists the points of a 64-bit little-endian file.
func Points(source io.ReaderAt) ([]Point, error) {
	file, err := symbols.OpenELF(source)
	if err != nil {
		return nil, err
	}
	notes := file.Section(".note.stapsdt")
	if notes == nil || notes.ReaderAt == nil || notes.Size > noteMost {
		return nil, ErrNone
	}
	text := make([]byte, notes.Size)
	if n, err := notes.ReadAt(text, 0); n < len(text) && err != nil {
		return nil, err
	}
	var moved uint64 // since the note was written: prelink
	base := file.Section(".stapsdt.base")
	var points []Point
	for len(text) >= 12 {
		nameBytes, size := binary.LittleEndian.Uint32(text), binary.LittleEndian.Uint32(text[4:])
		kind := binary.LittleEndian.Uint32(text[8:])
		from := 12 + align(uint64(nameBytes))
		next := from + align(uint64(size))
		if next > uint64(len(text)) || size < 24 {
			break
		}
		description := text[from : from+uint64(size)]
		if kind == noteType {
			if base != nil {
				moved = base.Addr - binary.LittleEndian.Uint64(description[8:])
			}
			if point, err := parse(file, description, moved); err == nil {
				points = append(points, point)
			}
		}
		text = text[next:]
	}
	if len(points) == 0 {
		return nil, ErrNone
	}
	return points, nil
}

func parse(file *elf.File, description []byte, moved uint64) (p Point, err error) {
	texts := bytes.SplitN(description[24:], []byte{0}, 4)
	if len(texts) < 3 {
		return p, fmt.Errorf("a note of %d bytes is truncated", len(description))
	}
	p.Provider, p.Name, p.Arguments = string(texts[0]), string(texts[1]), string(texts[2])
	if p.Offset, err = symbols.FileOffset(file, binary.LittleEndian.Uint64(description)+moved); err != nil {
		return p, err
	}
	if semaphore := binary.LittleEndian.Uint64(description[16:]); semaphore != 0 {
		p.Semaphore, err = symbols.FileOffset(file, semaphore+moved)
	}
	return p, err
}

func align(n uint64) uint64 { return (n + 3) &^ 3 }
