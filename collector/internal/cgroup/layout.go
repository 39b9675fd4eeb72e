// Package cgroup reads the cgroup file systems: where the controllers are mounted (v1 and v2), which cgroups exist, and
// the formats of their files. Parsers take bytes and never allocate; reading is up to the caller.
package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Layout is where the controllers of a machine are mounted. A controller that is not mounted is the empty string.
type Layout struct {
	Version int // 1 or 2
	CPU     string
	CPUAcct string
	Memory  string
	Pids    string
	IO      string // v1: blkio
	// Pressure is the v2 hierarchy, the only one with pressure files: that of the controllers or, on a hybrid machine,
	// the separate v2 hierarchy.
	Pressure string
}

// Detect finds the controllers below root, usually /sys/fs/cgroup. A hybrid machine (v1 controllers and an empty v2
// hierarchy next to them) counts as version 1, because that is where the controllers are.
func Detect(root string) (Layout, error) {
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return Layout{Version: 2, CPU: root, CPUAcct: root, Memory: root, Pids: root, IO: root, Pressure: root}, nil
	}
	layout := Layout{Version: 1}
	entries, err := os.ReadDir(root)
	if err != nil {
		return Layout{}, fmt.Errorf("cgroup root: %w", err)
	}
	for _, entry := range entries {
		directory := filepath.Join(root, entry.Name())
		if _, err := os.Stat(filepath.Join(directory, "cgroup.controllers")); err == nil {
			layout.Pressure = directory
			continue
		}
		// "cpu,cpuacct" is the mount, "cpu" and "cpuacct" are links to it on most v1 machines.
		for _, controller := range strings.Split(entry.Name(), ",") {
			layout.set(controller, directory)
		}
	}
	if layout.CPU == "" && layout.CPUAcct == "" && layout.Memory == "" && layout.Pids == "" {
		return Layout{}, fmt.Errorf("cgroup root: neither cgroup v2 nor a v1 cpu, cpuacct, memory or pids controller is mounted below %s", root)
	}
	return layout, nil
}

func (l *Layout) set(controller, directory string) {
	target := map[string]*string{"cpu": &l.CPU, "cpuacct": &l.CPUAcct, "memory": &l.Memory, "pids": &l.Pids, "blkio": &l.IO}[controller]
	if target == nil || *target != "" {
		return
	}
	if _, err := os.Stat(filepath.Join(directory, "cgroup.procs")); err == nil {
		*target = directory
	}
}
