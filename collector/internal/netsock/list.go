package netsock

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxTableBytes bounds what List reads from one table.
const maxTableBytes = 8 << 20

// List calls visit with each socket of a table ("udp", "udp6", "tcp", "tcp6") of the network namespace of a process.
func List(proc string, pid int, table string, visit func(*Socket)) error {
	return list(proc, pid, table, func(socket *Socket) bool {
		visit(socket)
		return true
	})
}

// Listening is List for the listening sockets of a TCP table. The kernel lists them before all connections, of which
// there can be many.
func Listening(proc string, pid int, table string, visit func(*Socket)) error {
	return list(proc, pid, table, func(socket *Socket) bool {
		if socket.State != TCPListen {
			return false
		}
		visit(socket)
		return true
	})
}

// list continues as long as visit returns true.
func list(proc string, pid int, table string, visit func(*Socket) bool) error {
	file, err := os.Open(filepath.Join(proc, strconv.Itoa(pid), "net", table))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	var socket Socket
	buffer := make([]byte, 32<<10)
	kept := 0
	for total := 0; total < maxTableBytes; {
		n, err := file.Read(buffer[kept:])
		if n == 0 || err != nil { // the end of the table, or of the process
			return nil
		}
		total += n
		text := buffer[:kept+n]
		for {
			end := bytes.IndexByte(text, '\n')
			if end < 0 {
				break
			}
			if Parse(text[:end], &socket) && !visit(&socket) {
				return nil
			}
			text = text[end+1:]
		}
		kept = copy(buffer, text)
	}
	return nil
}

// Inodes returns the inodes of the sockets that a process holds. It needs permission to ptrace the process.
func Inodes(proc string, pid int) (map[uint64]struct{}, error) {
	directory := filepath.Join(proc, strconv.Itoa(pid), "fd")
	handle, err := os.Open(directory)
	if err != nil {
		return nil, err
	}
	defer func() { _ = handle.Close() }()
	inodes := make(map[uint64]struct{})
	for {
		names, err := handle.Readdirnames(256)
		for _, name := range names {
			target, err := os.Readlink(filepath.Join(directory, name))
			if err != nil {
				continue
			}
			if number, ok := strings.CutPrefix(target, "socket:["); ok {
				if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil {
					inodes[inode] = struct{}{}
				}
			}
		}
		if err != nil || len(inodes) > 1<<16 { // io.EOF ends the directory
			return inodes, nil
		}
	}
}
