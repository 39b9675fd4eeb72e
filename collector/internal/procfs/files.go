package procfs

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Children lists the children of the first thread of a process.
func Children(proc string, pid int) (children []int) {
	number := strconv.Itoa(pid)
	text, err := os.ReadFile(filepath.Join(proc, number, "task", number, "children"))
	if err != nil {
		return nil
	}
	for _, field := range bytes.Fields(text) {
		if child, err := strconv.Atoi(string(field)); err == nil {
			children = append(children, child)
		}
	}
	return children
}

// Sysctl reads a setting that is a single number; nil if the kernel does not have it.
func Sysctl(proc, path string) *int64 {
	text, err := os.ReadFile(filepath.Join(proc, "sys", path))
	if err != nil {
		return nil
	}
	value, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return nil
	}
	return &value
}
