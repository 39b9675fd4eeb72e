package procfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Held is an open file that is read repeatedly from its beginning: procfs and cgroup files regenerate their content for
// each read at offset 0. The zero Held is closed.
type Held struct{ fd int }

// Hold opens path for reading.
func Hold(path string) (Held, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Held{}, err
	}
	return Held{fd: fd + 1}, nil
}

// HoldOpen takes over an open file.
func HoldOpen(file *os.File) (Held, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err = errors.Join(err, file.Close()); err != nil {
		return Held{}, err
	}
	return Held{fd: fd + 1}, nil
}

// HoldIfExists is Hold, but returns a closed Held if the file cannot be opened.
func HoldIfExists(path string) Held {
	held, _ := Hold(path)
	return held
}

// Open reports whether a file is open.
func (h Held) Open() bool { return h.fd > 0 }

// Read reads the file from its beginning into buffer, truncated to the buffer's length. It does not allocate. ok is
// false if the file is closed or gone.
func (h Held) Read(buffer []byte) (text []byte, ok bool) { return h.ReadAt(buffer, 0) }

// ReadAt is Read from an offset: a file longer than a page comes in several pieces, each of whole records.
func (h Held) ReadAt(buffer []byte, offset int64) (text []byte, ok bool) {
	if h.fd == 0 {
		return nil, false
	}
	for {
		n, err := unix.Pread(h.fd-1, buffer, offset)
		if err == nil {
			return buffer[:n], true
		}
		if err != unix.EINTR {
			return nil, false
		}
	}
}

// Close closes the file; closing a closed one is harmless.
func (h *Held) Close() {
	if h.fd > 0 {
		_ = unix.Close(h.fd - 1)
		h.fd = 0
	}
}
