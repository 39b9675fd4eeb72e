package procfs

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mapping is a file-backed part of a process's address space.
type Mapping struct {
	Start, End, Offset uint64
	Range              string // as the kernel writes it, which is also its name in map_files
	Path               string // as the process sees it; followed by " (deleted)" if it was removed
}

// EachMapping visits the file mappings of a process until visit returns false. It needs permission to ptrace the
// process.
func EachMapping(proc string, pid int, visit func(Mapping) bool) error {
	file, err := os.Open(filepath.Join(proc, strconv.Itoa(pid), "maps"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if mapping, ok := parseMapping(lines.Text()); ok && !visit(mapping) {
			return nil
		}
	}
	return lines.Err()
}

// parseMapping reads "START-END PERMISSIONS OFFSET DEVICE INODE PATH".
func parseMapping(line string) (m Mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[5][0] != '/' {
		return m, false
	}
	first, last, _ := strings.Cut(fields[0], "-")
	var errs [3]error
	m.Start, errs[0] = strconv.ParseUint(first, 16, 64)
	m.End, errs[1] = strconv.ParseUint(last, 16, 64)
	m.Offset, errs[2] = strconv.ParseUint(fields[2], 16, 64)
	m.Range = fields[0]
	_, m.Path, _ = strings.Cut(line, fields[4]+" ")
	m.Path = strings.TrimLeft(m.Path, " ")
	return m, errs == [3]error{}
}
