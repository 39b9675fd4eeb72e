package batch

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// buffer is one memory-mapped open-batch file, or plain memory if the disk has no room for the file.
type buffer struct {
	path   string
	data   []byte
	noRoom error  // why it is plain memory, which the next run of the collector cannot read
	sealed Sealed // what Rotate returns, kept here so that rotating does not allocate
}

// openBuffer maps path, creating it if it does not exist or has another layout. leftover is true if the file holds a
// batch that an earlier run did not seal.
func openBuffer(path string) (b *buffer, leftover bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("open batch: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("open batch: %w", err)
	}
	b = &buffer{path: path, noRoom: reserve(file, info.Size() == fileBytes)}
	if b.noRoom == nil {
		b.data, err = unix.Mmap(int(file.Fd()), 0, fileBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	} else {
		_ = file.Truncate(0) // the spool can use the space
		b.data, err = unix.Mmap(-1, 0, fileBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	}
	if err != nil {
		return nil, false, fmt.Errorf("map %s: %w", path, err)
	}
	b.sealed.buffer = b
	if b.header().magic != layoutMagic {
		*b.header() = header{magic: layoutMagic}
	}
	leftover = (b.state() == stateOpen || b.state() == stateSealing) && b.plausible()
	if !leftover {
		b.setState(stateEmpty)
	}
	return b, leftover, nil
}

// reserve allocates the file's blocks now, on any file system: a page without room when it is first written would kill
// the process with SIGBUS. whole says that the file already has its full size and may hold a batch.
func reserve(file *os.File, whole bool) error {
	if !whole {
		if err := errors.Join(file.Truncate(0), file.Truncate(fileBytes)); err != nil {
			return err
		}
	}
	for {
		err := unix.Fallocate(int(file.Fd()), 0, 0, fileBytes)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP) && !whole:
			return fill(file)
		case errors.Is(err, unix.EOPNOTSUPP):
			return nil // filled by the run that created it
		default:
			return err
		}
	}
}

// fill writes every block of a new file, if the file system cannot allocate them.
func fill(file *os.File) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < fileBytes; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(int64(len(zeros)), fileBytes-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// plausible guards recovery against a file damaged by a power failure.
func (b *buffer) plausible() bool {
	h := b.header()
	return h.columns <= Columns && h.resources <= MaxResources && h.slots <= MaxSlots && h.journal <= JournalBytes &&
		h.sequence > 0 && h.state <= stateSealing
}

// start makes the buffer the open one. The directory must already have been written into it.
func (b *buffer) start(spoolID [16]byte, sequence uint64, baseTick int64) {
	h := b.header()
	h.spoolID, h.sequence, h.baseTick = spoolID, sequence, baseTick
	h.journal = 0
	b.setColumns(0)
	b.setState(stateOpen)
}

// clear empties the buffer. Its pages stay in the file but not in this process, which halves the resident memory of the
// two buffers.
func (b *buffer) clear() {
	b.setState(stateDone)
	_ = unix.Madvise(b.data, unix.MADV_DONTNEED)
	b.setState(stateEmpty)
}

func (b *buffer) close() error { return unix.Munmap(b.data) }

var _ = [1]struct{}{}[unsafe.Sizeof(slotEntry{})-slotBytes] // the slot table is read as an array of slotEntry
