package procfs

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Descriptors counts the open descriptors of a process. The zero Descriptors is closed.
type Descriptors struct {
	directory Held
	sized     bool
	stat      unix.Stat_t
}

// HoldDescriptors opens /proc/PID/fd. It needs permission to ptrace the process.
func HoldDescriptors(path string) (Descriptors, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Descriptors{}, err
	}
	d := Descriptors{directory: Held{fd: fd + 1}}
	// Since Linux 6.2 the size of the directory is the number of descriptors.
	if unix.Fstat(fd, &d.stat) == nil && d.stat.Size > 0 {
		d.sized = true
	}
	return d, nil
}

// Cheap reports whether counting costs the same for any number of descriptors.
func (d *Descriptors) Cheap() bool { return d.sized }

// Count counts the descriptors; it lists them through buffer if the kernel does not provide their number. It does not
// allocate.
func (d *Descriptors) Count(buffer []byte) (count int, ok bool) {
	if !d.directory.Open() {
		return 0, false
	}
	fd := d.directory.fd - 1
	if d.sized {
		return d.size(fd)
	}
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return 0, false
	}
	for {
		n, err := unix.Getdents(fd, buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, false
		}
		if n <= 0 {
			return max(count-2, 0), count >= 2 // "." and ".."
		}
		count += entries(buffer[:n])
	}
}

func (d *Descriptors) size(fd int) (count int, ok bool) {
	if unix.Fstat(fd, &d.stat) != nil {
		return 0, false
	}
	return int(d.stat.Size), true
}

// entries counts records of getdents64: inode, offset, length of the record (16 bits), type, name.
func entries(records []byte) (count int) {
	const lengthAt = 16
	for len(records) > lengthAt+2 {
		length := int(binary.NativeEndian.Uint16(records[lengthAt:]))
		if length == 0 || length > len(records) {
			break
		}
		records = records[length:]
		count++
	}
	return count
}

// Close closes the directory; closing a closed one is harmless.
func (d *Descriptors) Close() { d.directory.Close() }
