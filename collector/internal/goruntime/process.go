package goruntime

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// LocateInProcess returns the file offsets of names in the executable of a running process. proc is where procfs is
// mounted. It needs the right to ptrace the process (to read its memory).
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
	bias, err := loadBias(directory, file)
	if err != nil {
		return nil, err
	}
	return Locate(file, memory, bias, names)
}

// loadBias compares where the executable's first segment is mapped with where it was linked.
func loadBias(directory string, file *elf.File) (uint64, error) {
	if file.Type == elf.ET_EXEC {
		return 0, nil
	}
	executable, err := os.Readlink(directory + "/exe")
	if err != nil {
		return 0, err
	}
	maps, err := os.Open(directory + "/maps")
	if err != nil {
		return 0, err
	}
	defer func() { _ = maps.Close() }()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		start, offset, path, ok := parseMapping(lines.Text())
		if !ok || path != executable {
			continue
		}
		for _, segment := range file.Progs {
			if segment.Type == elf.PT_LOAD && segment.Off&^0xfff == offset {
				return start - segment.Vaddr&^0xfff, nil
			}
		}
	}
	return 0, fmt.Errorf("%s is not mapped: %w", executable, errorOrNotFound(lines.Err()))
}

func errorOrNotFound(err error) error {
	if err != nil {
		return err
	}
	return os.ErrNotExist
}

// parseMapping reads "START-END PERMISSIONS OFFSET DEVICE INODE PATH".
func parseMapping(line string) (start, offset uint64, path string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return 0, 0, "", false
	}
	first, _, _ := strings.Cut(fields[0], "-")
	start, errStart := strconv.ParseUint(first, 16, 64)
	offset, errOffset := strconv.ParseUint(fields[2], 16, 64)
	_, path, _ = strings.Cut(line, fields[4]+" ")
	return start, offset, strings.TrimSpace(path), errStart == nil && errOffset == nil
}
