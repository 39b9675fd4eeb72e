package batch

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// buffer is one memory-mapped open-batch file.
type buffer struct {
	path   string
	data   []byte
	sealed Sealed // what Rotate returns, kept here so that rotating does not allocate
}

// openBuffer maps path, making it if it does not exist or has another layout. leftover is true where the file holds a
// batch that a former run did not get to seal.
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
	if info.Size() != fileBytes {
		if err := file.Truncate(0); err != nil {
			return nil, false, fmt.Errorf("open batch: %w", err)
		}
		if err := file.Truncate(fileBytes); err != nil {
			return nil, false, fmt.Errorf("open batch: %w", err)
		}
	}
	if err := reserve(int(file.Fd())); err != nil {
		return nil, false, fmt.Errorf("open batch: %s: no room for %d MiB: %w", path, fileBytes>>20, err)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, fileBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, false, fmt.Errorf("map %s: %w", path, err)
	}
	b = &buffer{path: path, data: data}
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

// reserve allocates the file's blocks now: a page that the disk has no room for when it is first written would end the
// process with SIGBUS. Not in memory file systems, where it would take the memory.
func reserve(fd int) error {
	var system unix.Statfs_t
	if unix.Fstatfs(fd, &system) == nil && system.Type == unix.TMPFS_MAGIC {
		return nil
	}
	err := unix.Fallocate(fd, 0, 0, fileBytes)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

// plausible guards recovery against a file damaged by a power failure.
func (b *buffer) plausible() bool {
	h := b.header()
	return h.columns <= Columns && h.resources <= MaxResources && h.slots <= MaxSlots && h.journal <= JournalBytes &&
		h.sequence > 0 && h.state <= stateSealing
}

// start makes the buffer the open one. The directory must have been written into it before.
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
