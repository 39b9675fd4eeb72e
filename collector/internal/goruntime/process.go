package goruntime

import (
	"debug/elf"
	"fmt"
	"os"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

// LocateInProcess returns the file offsets of names in the executable of a running process. proc is where procfs is
// mounted. It needs permission to ptrace the process (to read its memory).
func LocateInProcess(proc string, pid int, names []string) (map[string]uint64, error) {
	directory := proc + "/" + strconv.Itoa(pid)
	file, err := elf.Open(directory + "/exe")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	memory, err := os.Open(directory + "/mem")
	if err != nil {
		return nil, fmt.Errorf("read memory of the program: %w", err)
	}
	defer func() { _ = memory.Close() }()
	bias, err := loadBias(proc, pid, file)
	if err != nil {
		return nil, err
	}
	return Locate(file, memory, bias, names)
}

// loadBias compares where the executable's first segment is mapped with its linked address.
func loadBias(proc string, pid int, file *elf.File) (uint64, error) {
	if file.Type == elf.ET_EXEC {
		return 0, nil
	}
	executable, err := os.Readlink(proc + "/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return 0, err
	}
	var bias uint64
	found := false
	err = procfs.EachMapping(proc, pid, func(m procfs.Mapping) bool {
		for _, segment := range file.Progs {
			if m.Path == executable && segment.Type == elf.PT_LOAD && segment.Off&^0xfff == m.Offset {
				bias, found = m.Start-segment.Vaddr&^0xfff, true
			}
		}
		return !found
	})
	if !found {
		return 0, fmt.Errorf("%s is not mapped: %w", executable, errorOrNotFound(err))
	}
	return bias, nil
}

func errorOrNotFound(err error) error {
	if err != nil {
		return err
	}
	return os.ErrNotExist
}
