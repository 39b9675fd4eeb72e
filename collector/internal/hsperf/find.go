package hsperf

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procroot"
)

var (
	// ErrNoJVM means that the process is not a JVM.
	ErrNoJVM = errors.New("the process is not a JVM")
	// ErrNotShared means that a JVM does not share its performance data.
	ErrNotShared = errors.New("the JVM does not share performance data")
)

// Open opens the performance data of a process. It finds the file in the process's mappings: its name has the user name
// and the PID as they are in the container. It needs permission to ptrace the process.
//
// The file is read and not mapped: another process that can write to it can truncate it, which would kill a process
// that has it mapped.
func Open(proc string, pid int) (*os.File, error) {
	machine := false
	var shared procfs.Mapping
	err := procfs.EachMapping(proc, pid, func(m procfs.Mapping) bool {
		path := strings.TrimSuffix(m.Path, " (deleted)")
		machine = machine || filepath.Base(path) == "libjvm.so"
		if _, err := strconv.Atoi(filepath.Base(path)); err == nil && strings.HasPrefix(filepath.Base(filepath.Dir(path)), "hsperfdata_") {
			shared = m
		}
		return !machine || shared.Path == ""
	})
	switch {
	case err != nil:
		return nil, err
	case !machine:
		return nil, ErrNoJVM
	case shared.Path == "":
		return nil, ErrNotShared
	}
	file, err := procroot.Open(proc, pid, shared.Path)
	if err != nil { // removed, or the program has another root than its mapping: the kernel still has it
		return os.Open(filepath.Join(proc, strconv.Itoa(pid), "map_files", shared.Range))
	}
	return file, nil
}
