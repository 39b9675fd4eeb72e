package symbols

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
)

// mapping is an executable part of a process's address space.
type mapping struct {
	start, end, offset uint64 // offset in the file
	file               fileKey
	path               string // "" if there is no file; "[vdso]"
}

// fileKey identifies a file, as long as it is not changed in place.
type fileKey struct{ device, inode string }

// parseMaps reads /proc/PID/maps: "START-END PERMISSIONS OFFSET DEVICE INODE PATH", sorted by address.
func parseMaps(text io.Reader) []mapping {
	var all []mapping
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		line := lines.Text()
		bounds, rest, _ := strings.Cut(line, " ")
		permissions, rest, _ := strings.Cut(rest, " ")
		if len(permissions) < 3 || permissions[2] != 'x' {
			continue
		}
		offset, rest, _ := strings.Cut(rest, " ")
		device, rest, _ := strings.Cut(rest, " ")
		inode, path, _ := strings.Cut(rest, " ")
		first, last, _ := strings.Cut(bounds, "-")
		m := mapping{file: fileKey{device, inode}, path: strings.TrimLeft(path, " ")}
		var errs [3]error
		m.start, errs[0] = strconv.ParseUint(first, 16, 64)
		m.end, errs[1] = strconv.ParseUint(last, 16, 64)
		m.offset, errs[2] = strconv.ParseUint(offset, 16, 64)
		if errs == [3]error{} {
			all = append(all, m)
		}
	}
	return all
}

func findMapping(all []mapping, address uint64) (mapping, bool) {
	i, exact := slices.BinarySearchFunc(all, address, func(m mapping, a uint64) int { return cmp.Compare(m.start, a) })
	if !exact {
		i--
	}
	if i < 0 || address >= all[i].end {
		return mapping{}, false
	}
	return all[i], true
}
