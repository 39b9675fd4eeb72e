package cgroup

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const mostProcesses = 4

// Processes lists some processes of the cgroup itself, at most 4; none if it has gone.
func (l *Location) Processes() (pids []int) {
	directory := cmp.Or(l.CPU, l.CPUAcct, l.Memory, l.Pids)
	file, err := os.Open(filepath.Join(directory, "cgroup.procs"))
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	var buffer [256]byte
	n, _ := file.Read(buffer[:])
	lines := strings.Split(string(buffer[:n]), "\n")
	for _, line := range lines[:min(len(lines)-1, mostProcesses)] { // the last one is empty or truncated
		if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
