package cgroup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Location is one cgroup: its path below the hierarchy root and its directory in each controller that has it. On v1 the
// same relative path in several hierarchies is one cgroup.
type Location struct {
	Path    string // "/kubepods/burstable/pod…", never "/"
	Version int
	CPU     string // directories; empty if the controller does not have this cgroup
	CPUAcct string
	Memory  string
	Pids    string
	IO      string
	// Pressure is its directory in the v2 hierarchy; it might not exist on a hybrid machine, where systemd and
	// container runtimes create the same path there.
	Pressure string
	marks    [5]mark // by controller
}

// mark distinguishes a cgroup from a later one with the same path, and from itself before a controller was enabled in
// it.
type mark struct {
	inode       uint64
	controllers uint8 // v2: one bit each for cpu, memory, pids and io
}

// Parent is the path of the parent cgroup, "/" at the top.
func (l Location) Parent() string { return path.Dir(l.Path) }

// Same reports whether other is the same cgroup and not a later one with the same path.
func (l Location) Same(other Location) bool { return l.Path == other.Path && l.marks == other.marks }

// Continues reports whether other is this cgroup before or after a controller came or went: its counters go on.
func (l Location) Continues(other Location) bool {
	for i, mark := range l.marks {
		if mark.inode != 0 && mark.inode == other.marks[i].inode {
			return true
		}
	}
	return false
}

// Inode identifies this cgroup in the kernel, in the CPU controller's hierarchy under v1; 0 if it is not in there.
func (l Location) Inode() uint64 { return l.marks[0].inode }

// Walker lists the cgroups of a layout.
type Walker struct {
	Layout Layout
	Limit  int // maximum number of cgroups; 0: no limit
	Shed   int // how many the last Walk left out
	// Visit is called with every directory below a hierarchy, before its children are read. May be nil.
	Visit func(directory string)
}

// Walk lists the cgroups, parents first. Beyond the limit it keeps those with a CPU quota, then those nearest to the
// root.
func (w *Walker) Walk(ctx context.Context) ([]Location, error) {
	found := make(map[string]*Location)
	walked := make(map[string]map[string]mark) // resolved hierarchy -> path
	for index, directory := range []string{w.Layout.CPU, w.Layout.CPUAcct, w.Layout.Memory, w.Layout.Pids, w.Layout.IO} {
		if directory == "" {
			continue
		}
		resolved, err := filepath.EvalSymlinks(directory)
		if err != nil {
			return nil, err
		}
		marks, done := walked[resolved]
		if !done {
			marks = make(map[string]mark)
			if err := w.descend(ctx, resolved, "", marks); err != nil {
				return nil, err
			}
			walked[resolved] = marks
		}
		for relative, mark := range marks {
			location := found[relative]
			if location == nil && index == onlyJoins {
				continue
			}
			if location == nil {
				location = &Location{Path: relative, Version: w.Layout.Version}
				if w.Layout.Pressure != "" {
					location.Pressure = w.Layout.Pressure + relative
				}
				found[relative] = location
			}
			*location.directory(index) = resolved + relative
			location.marks[index] = mark
		}
	}
	locations := make([]Location, 0, len(found))
	for _, location := range found {
		locations = append(locations, *location)
	}
	return w.limit(locations), nil
}

// onlyJoins is the hierarchy whose cgroups are left out if no other hierarchy has them: it only adds what cgroups do on
// disks.
const onlyJoins = 4

func (l *Location) directory(index int) *string {
	return [...]*string{&l.CPU, &l.CPUAcct, &l.Memory, &l.Pids, &l.IO}[index]
}

func (w *Walker) descend(ctx context.Context, root, relative string, marks map[string]mark) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.Visit != nil {
		w.Visit(root + relative)
	}
	entries, err := os.ReadDir(root + relative)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		delete(marks, relative) // vanished in the meantime
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	if relative != "" && w.Layout.Version == 2 {
		own := marks[relative]
		for _, entry := range entries {
			own.controllers |= controllerBits[entry.Name()]
		}
		marks[relative] = own
	}
	for _, entry := range entries {
		if !entry.IsDir() || len(relative)+len(entry.Name()) >= 511 {
			continue
		}
		child := relative + "/" + entry.Name()
		var status unix.Stat_t
		if unix.Lstat(root+child, &status) != nil {
			continue
		}
		marks[child] = mark{inode: status.Ino}
		if err := w.descend(ctx, root, child, marks); err != nil {
			return err
		}
	}
	return nil
}

// controllerBits are files that exist if a v2 controller is enabled.
var controllerBits = map[string]uint8{"cpu.max": 1, "memory.current": 2, "pids.current": 4, "io.stat": 8}

func (w *Walker) limit(locations []Location) []Location {
	w.Shed = 0
	if w.Limit > 0 && len(locations) > w.Limit {
		keep := make(map[string]bool, w.Limit)
		limited := make(map[string]bool)
		for _, location := range locations {
			if limits, err := ReadCPULimits(location); err == nil && limits.QuotaUS > 0 {
				limited[location.Path] = true
			}
		}
		slices.SortFunc(locations, func(a, b Location) int {
			if limited[a.Path] != limited[b.Path] {
				if limited[a.Path] {
					return -1
				}
				return 1
			}
			if depth := strings.Count(a.Path, "/") - strings.Count(b.Path, "/"); depth != 0 {
				return depth
			}
			return strings.Compare(a.Path, b.Path)
		})
		w.Shed = len(locations) - w.Limit
		for _, location := range locations[:w.Limit] {
			keep[location.Path] = true
		}
		locations = slices.DeleteFunc(locations, func(l Location) bool { return !keep[l.Path] })
	}
	slices.SortFunc(locations, func(a, b Location) int { return strings.Compare(a.Path, b.Path) })
	return locations
}

// errNoDevice is the error from reading an open file of a removed cgroup.
var errNoDevice error = unix.ENODEV
