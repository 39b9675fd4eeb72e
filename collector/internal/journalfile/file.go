// Package journalfile reads what is appended to systemd journals, without journalctl, which a container does not have.
//
// The format is documented at https://systemd.io/JOURNAL_FILE_FORMAT/. Objects lie one after another, and new ones are
// appended; this package reads what was appended since the last look, and the fields that new entries share with old
// ones.
package journalfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	headerBytes       = 208 // the part that all versions have and that is read here
	offsetFlags       = 12
	offsetHeaderSize  = 88
	offsetTail        = 136
	objectHeaderBytes = 16
	typeData          = 1
	typeEntry         = 3
	flagXZ            = 1
	flagLZ4           = 2
	flagZSTD          = 4
	compactFormat     = 1 << 4
	knownFlags        = 1<<5 - 1 // XZ, LZ4, keyed hash, ZSTD, compact
	maxFieldBytes     = 64 << 10
	maxRemembered     = 16384
)

var (
	signature  = []byte("LPKSHHRH")
	errNoFile  = errors.New("not a journal")
	errCorrupt = errors.New("the journal is corrupt")
)

// Entry is one line of a journal.
type Entry struct {
	At      time.Time
	PID     int
	Unit    string // of the system; empty for processes without a unit
	Message []byte
}

// wanted are the fields that are read; all others are only distinguished from them.
var wanted = []string{"MESSAGE=", "_PID=", "_SYSTEMD_UNIT="}

// file follows one journal file.
type file struct {
	reader     io.ReaderAt
	close      func() error
	compact    bool
	position   uint64 // of the next object
	tail       uint64 // of the last object at the last look
	fields     map[uint64]string
	unreadable *atomic.Int64 // counts values that could not be decompressed
	decoder    *zstd.Decoder
}

// open opens a journal and seeks to its end, or to its beginning.
func open(path string, fromBeginning bool, unreadable *atomic.Int64) (*file, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &file{reader: opened, close: opened.Close, fields: make(map[uint64]string), unreadable: unreadable}
	if err := f.begin(fromBeginning); err != nil {
		_ = opened.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func (f *file) begin(fromBeginning bool) error {
	var header [headerBytes]byte
	if _, err := f.reader.ReadAt(header[:], 0); err != nil || string(header[:8]) != string(signature) {
		return errNoFile
	}
	flags := binary.LittleEndian.Uint32(header[offsetFlags:])
	if flags&^uint32(knownFlags) != 0 {
		return fmt.Errorf("unknown format (flags %#x)", flags)
	}
	f.compact = flags&compactFormat != 0
	f.tail = binary.LittleEndian.Uint64(header[offsetTail:])
	if f.position = f.tail; fromBeginning {
		f.position = binary.LittleEndian.Uint64(header[offsetHeaderSize:])
		return nil
	}
	size, _, _, err := f.object(f.tail)
	f.position += size
	return err
}

// object reads the header of an object; its size is the distance to the next one.
func (f *file) object(at uint64) (size uint64, kind, flags byte, err error) {
	var header [objectHeaderBytes]byte
	if _, err := f.reader.ReadAt(header[:], int64(at)); err != nil {
		return 0, 0, 0, err
	}
	size = binary.LittleEndian.Uint64(header[8:])
	if size < objectHeaderBytes || size > 1<<40 {
		return 0, 0, 0, errCorrupt
	}
	return (size + 7) &^ 7, header[0], header[1], nil
}

// look visits the entries that existed at the last look and have not been visited. What was appended later waits for
// the next look: the last entry might still be being written.
func (f *file) look(last bool, visit func(Entry)) error {
	until := f.tail
	var tail [8]byte
	if _, err := f.reader.ReadAt(tail[:], offsetTail); err != nil {
		return err
	}
	f.tail = binary.LittleEndian.Uint64(tail[:])
	if last {
		until = f.tail
	}
	for f.position <= until {
		size, kind, _, err := f.object(f.position)
		if err != nil {
			return err
		}
		if kind == typeEntry {
			if err := f.entry(f.position, size, visit); err != nil {
				return err
			}
		}
		f.position += size
	}
	return nil
}

func (f *file) entry(at, size uint64, visit func(Entry)) error {
	const itemsAt, maxSize = 64, 1 << 20
	if size < itemsAt || size > maxSize {
		return errCorrupt
	}
	raw := make([]byte, size)
	if _, err := f.reader.ReadAt(raw, int64(at)); err != nil {
		return err
	}
	end := binary.LittleEndian.Uint64(raw[8:])
	found := Entry{At: time.UnixMicro(int64(binary.LittleEndian.Uint64(raw[24:])))}
	step := uint64(16)
	if f.compact {
		step = 4
	}
	for i := uint64(itemsAt); i+step <= end; i += step {
		var offset uint64
		if f.compact {
			offset = uint64(binary.LittleEndian.Uint32(raw[i:]))
		} else {
			offset = binary.LittleEndian.Uint64(raw[i:])
		}
		field, err := f.field(offset)
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "MESSAGE":
			found.Message = []byte(value)
		case "_PID":
			found.PID, _ = strconv.Atoi(value)
		case "_SYSTEMD_UNIT":
			found.Unit = value
		}
	}
	visit(found)
	return nil
}

// field reads a data object: "NAME=value", or "" for unwanted fields. Values that many entries share are cached.
func (f *file) field(at uint64) (string, error) {
	if known, ok := f.fields[at]; ok {
		return known, nil
	}
	size, kind, flags, err := f.object(at)
	if err != nil {
		return "", err
	}
	payload := uint64(64)
	if f.compact {
		payload = 72
	}
	if kind != typeData || size < payload {
		return "", errCorrupt
	}
	var exact [8]byte
	if _, err := f.reader.ReadAt(exact[:], int64(at)+8); err != nil {
		return "", err
	}
	raw := make([]byte, min(binary.LittleEndian.Uint64(exact[:])-payload, maxFieldBytes))
	if _, err := f.reader.ReadAt(raw, int64(at+payload)); err != nil {
		return "", err
	}
	field := f.plain(raw, flags)
	if !isWanted(field) {
		field = ""
	}
	if !strings.HasPrefix(field, "MESSAGE=") {
		if len(f.fields) >= maxRemembered {
			clear(f.fields)
		}
		f.fields[at] = field
	}
	return field, nil
}

func isWanted(field string) bool {
	for _, name := range wanted {
		if strings.HasPrefix(field, name) {
			return true
		}
	}
	return false
}

// plain decompresses values; long ones are compressed.
func (f *file) plain(raw []byte, flags byte) string {
	switch {
	case flags&flagZSTD != 0:
		if f.decoder == nil {
			f.decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<20))
		}
		if out, err := f.decoder.DecodeAll(raw, nil); err == nil {
			return string(out)
		}
	case flags&flagLZ4 != 0:
		if out, ok := lz4(raw, maxFieldBytes); ok {
			return string(out)
		}
	case flags&flagXZ != 0:
		if out, ok := unxz(raw, maxFieldBytes); ok {
			return string(out)
		}
	default:
		return string(raw)
	}
	f.unreadable.Add(1)
	return ""
}
