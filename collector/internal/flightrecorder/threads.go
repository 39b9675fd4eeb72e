package flightrecorder

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/decimal"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

// threadReader reads threads without allocating: paths are built in a buffer and opened relative to the directory of
// the process's threads.
type threadReader struct {
	proc    string
	hidden  bool
	found   []Wait
	path    []byte
	list    [4096]byte // directory entries
	text    [4096]byte
	deep    [4096]byte
	young   [1024]byte // the first children
	command [64]byte
}

func newThreadReader(proc string) threadReader {
	return threadReader{proc: proc, found: make([]Wait, 0, WaitThreads), path: make([]byte, 0, len(proc)+64)}
}

// look reads the threads of a process, then those of its children with the same name while there is room.
func (r *threadReader) look(pid int, us int64, texts *texts) (found []Wait, threads int) {
	r.found, r.hidden = r.found[:0], false
	threads, command := r.process(pid, us, texts, nil)
	if command == nil {
		return nil, 0
	}
	for children := r.children(pid); len(r.found) < WaitThreads; {
		child, rest, ok := decimal.Parse(bytes.TrimLeft(children, " "))
		if !ok {
			break
		}
		children = rest
		more, _ := r.process(int(child), us, texts, command)
		threads += more
	}
	return r.found, threads
}

// process adds the threads of a process, unless it is not called as wanted. It returns how many threads it has, and its
// name.
func (r *threadReader) process(pid int, us int64, texts *texts, wanted []byte) (threads int, command []byte) {
	directory, err := openAt(unix.AT_FDCWD, r.ofProcess(pid, "/task"), unix.O_DIRECTORY)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = unix.Close(directory) }()
	for {
		n, err := unix.Getdents(directory, r.list[:])
		if err != nil || n <= 0 {
			return threads, command
		}
		for entries := r.list[:n]; len(entries) > direntName; {
			length := int(binary.NativeEndian.Uint16(entries[direntLength:]))
			if length <= direntName || length > len(entries) {
				return threads, command
			}
			thread, rest, ok := decimal.Parse(entries[direntName:length])
			entries = entries[length:]
			if !ok || len(rest) == 0 || rest[0] != 0 {
				continue
			}
			if len(r.found) == WaitThreads {
				return threads, command
			}
			wait := Wait{us: us, pid: int32(pid), thread: int32(thread)}
			stat, ok := r.thread(directory, &wait, texts)
			if !ok {
				continue
			}
			if threads == 0 { // the first thread has the name of the process
				if wanted != nil && !bytes.Equal(stat.Command, wanted) {
					return 0, nil
				}
				threads = max(int(stat.Threads), 1)
				if command = wanted; command == nil {
					command = r.command[:copy(r.command[:], stat.Command)]
				}
			}
			r.found = append(r.found, wait)
		}
	}
}

// Offsets in struct linux_dirent64 (getdents64(2)).
const direntLength, direntName = 16, 19

// thread reads one thread. The command in stat is valid until the next call.
func (r *threadReader) thread(directory int, wait *Wait, texts *texts) (stat procfs.ProcessStat, ok bool) {
	text, err := r.read(directory, r.ofThread(wait.thread, "/stat"), r.text[:])
	if err != nil {
		return stat, false
	}
	if stat, ok = procfs.ParseProcessStat(text); !ok {
		return stat, false
	}
	wait.state, wait.name, wait.call = stat.State, texts.put(stat.Command), unknownCall
	if deep, err := r.read(directory, r.ofThread(wait.thread, "/syscall"), r.deep[:]); err == nil {
		wait.call = parseCall(deep)
	} else if err == unix.EACCES || err == unix.EPERM {
		r.hidden = true
	}
	if stat.State == 'R' || stat.State == 'Z' || stat.State == 'X' {
		return stat, true
	}
	if place, err := r.read(directory, r.ofThread(wait.thread, "/wchan"), r.deep[:]); err == nil && !bytes.Equal(place, zero) {
		wait.place = texts.put(place)
	}
	if stat.State == 'D' || (stat.State == 'S' && !tellsItself(wait.call)) {
		if stack, err := r.read(directory, r.ofThread(wait.thread, "/stack"), r.deep[:]); err == nil {
			wait.stack = texts.putStack(stack)
		}
	}
	return stat, true
}

// zero is wchan of a thread that does not sleep, or whose place is not told.
var zero = []byte("0")

// parseCall reads the number of the system call: "running", "-1 0x… 0x…", "202 0x… …".
func parseCall(text []byte) int32 {
	if bytes.HasPrefix(text, []byte("-1")) {
		return noCall
	}
	if number, _, ok := decimal.Parse(text); ok && number < 1<<16 {
		return int32(number)
	}
	return unknownCall
}

// children is the text of /proc/PID/task/PID/children, which not every kernel has.
func (r *threadReader) children(pid int) []byte {
	r.path = r.ofProcess(pid, "/task/")
	r.path = strconv.AppendInt(r.path[:len(r.path)-1], int64(pid), 10)
	r.path = append(r.path, "/children\x00"...)
	text, err := r.read(unix.AT_FDCWD, r.path, r.young[:])
	if err != nil {
		return nil
	}
	return text[:bytes.LastIndexByte(text, ' ')+1] // the last one might be cut off
}

// read reads a file whose path ends with a zero byte.
func (r *threadReader) read(directory int, path []byte, buffer []byte) ([]byte, error) {
	file, err := openAt(directory, path, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.Read(file, buffer)
	_ = unix.Close(file)
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(buffer[:n], "\n"), nil
}

// openAt is unix.Openat without a copy of the path, which ends with a zero byte.
func openAt(directory int, path []byte, flags int) (int, error) {
	file, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(directory), uintptr(unsafe.Pointer(&path[0])),
		uintptr(unix.O_RDONLY|unix.O_CLOEXEC|flags), 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(file), nil
}

func (r *threadReader) ofProcess(pid int, name string) []byte {
	r.path = append(append(r.path[:0], r.proc...), '/')
	r.path = strconv.AppendInt(r.path, int64(pid), 10)
	r.path = append(append(r.path, name...), 0)
	return r.path
}

func (r *threadReader) ofThread(thread int32, name string) []byte {
	r.path = strconv.AppendInt(r.path[:0], int64(thread), 10)
	r.path = append(append(r.path, name...), 0)
	return r.path
}
