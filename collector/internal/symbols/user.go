package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
	"github.com/jitterscope/jitterscope/collector/internal/procroot"
)

const (
	filesMost = 128
	spansMost = 12288 // of all files together
	// budgetMost is a tenth of a second of reading.
	budgetMost = 64 << 20
)

// User names functions of programs.
type User struct {
	proc  string
	known map[fileKey]*module
	spans int
	left  uint64 // bytes of symbol tables that can still be read
}

// module is what is known about a file.
type module struct {
	functions spans             // by offset in the file
	nameless  map[uint64]string // offsets for which no function was found, and how they are shown
}

// NewUser reads what processes run below proc.
func NewUser(proc string) *User { return &User{proc: proc, known: make(map[fileKey]*module)} }

// Begin starts a round of lookups with a new read budget: once it is used up, the rest have no names.
func (u *User) Begin() { u.left = budgetMost }

// Resolve names addresses of a process. One without a name is "[FILE+0x1234]", with its offset in the file; code
// without a file is "[anonymous]". It fails if the process is gone: then there is nothing to report.
func (u *User) Resolve(pid int, addresses []uint64) (map[uint64]string, error) {
	maps, err := os.Open(filepath.Join(u.proc, strconv.Itoa(pid), "maps"))
	if err != nil {
		return nil, err
	}
	mappings := parseMaps(maps)
	_ = maps.Close()
	names := make(map[uint64]string, len(addresses))
	type place struct{ address, offset uint64 }
	unknown := make(map[fileKey][]place)
	files := make(map[fileKey]mapping)
	for _, address := range addresses {
		m, ok := findMapping(mappings, address)
		switch {
		case !ok:
			names[address] = "[unknown]"
			continue
		case m.path == "" || m.path[0] == '[' || strings.HasPrefix(m.path, "//anon"):
			names[address] = anonymous(m.path)
			continue
		}
		offset := address - m.start + m.offset
		if name, ok := u.module(m.file).find(offset); ok {
			names[address] = name
			continue
		}
		unknown[m.file] = append(unknown[m.file], place{address, offset})
		files[m.file] = m
	}
	for file, places := range unknown {
		offsets := make([]uint64, len(places))
		for i, p := range places {
			offsets[i] = p.offset
		}
		found := u.module(file)
		u.look(pid, files[file], found, offsets)
		base := filepath.Base(strings.TrimSuffix(files[file].path, " (deleted)"))
		for _, p := range places {
			name, ok := found.find(p.offset)
			if !ok {
				name = fmt.Sprintf("[%s+%#x]", base, p.offset)
				found.nameless[p.offset] = name
				u.spans++
			}
			names[p.address] = name
		}
	}
	return names, nil
}

func anonymous(path string) string {
	if path == "" || path[0] == '/' {
		return "[anonymous]"
	}
	return path // [vdso]
}

func (m *module) find(offset uint64) (string, bool) {
	if name, ok := m.functions.find(offset); ok {
		return name, true
	}
	name, ok := m.nameless[offset]
	return name, ok
}

// module returns what is known about a file. Everything is dropped when it becomes too much.
func (u *User) module(key fileKey) *module {
	known := u.known[key]
	if known == nil {
		if len(u.known) >= filesMost || u.spans > spansMost {
			u.known, u.spans = make(map[fileKey]*module), 0
		}
		known = &module{nameless: make(map[uint64]string)}
		u.known[key] = known
	}
	return known
}

// look finds the functions at offsets of a file that a process has mapped.
func (u *User) look(pid int, m mapping, into *module, offsets []uint64) {
	opened, err := u.open(pid, m)
	if err != nil {
		return
	}
	defer func() { _ = opened.Close() }()
	file, err := OpenELF(opened)
	if err != nil {
		return
	}
	shift := make(map[uint64]uint64, len(file.Progs)) // linked address - offset, by linked address
	addresses := make([]uint64, 0, len(offsets))
	for _, offset := range offsets {
		if address, ok := linkedAddress(file, offset); ok {
			addresses = append(addresses, address)
			shift[address] = address - offset
		}
	}
	if functions, err := goruntime.OpenFunctions(u.proc, pid, file); err == nil {
		for _, address := range addresses {
			if start, end, name, ok := functions.At(address); ok {
				u.add(into, Span{start - shift[address], end - shift[address], name})
			}
		}
		return
	}
	_ = resolveELF(file, addresses, &u.left, func(span Span) {
		for address, by := range shift {
			if address >= span.Start && address < span.End {
				u.add(into, Span{span.Start - by, span.End - by, span.Name})
				return
			}
		}
	})
}

func (u *User) add(into *module, span Span) {
	into.functions = into.functions.insert(span)
	u.spans++
}

// open opens a mapped file as the process sees it; a deleted one only through the process's executable.
func (u *User) open(pid int, m mapping) (*os.File, error) {
	if file, err := procroot.Open(u.proc, pid, m.path); err == nil {
		return file, nil
	}
	executable := filepath.Join(u.proc, strconv.Itoa(pid), "exe")
	if target, err := os.Readlink(executable); err != nil || target != m.path {
		return nil, os.ErrNotExist
	}
	return os.Open(executable)
}
