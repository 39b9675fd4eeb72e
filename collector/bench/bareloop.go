package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
)

// What the collector reads at each tick, and what every tenth.
var (
	eachTick = map[int][]string{
		1: {"cpu/cpu.stat", "cpu/cpu.stat.local", "cpuacct/cpuacct.usage", "cpuacct/cpuacct.stat", "memory/memory.usage_in_bytes",
			"memory/memory.failcnt", "memory/memory.oom_control", "pids/pids.current"},
		2: {"cpu/cpu.stat", "cpu/cpu.stat.local", "memory/memory.current", "memory/memory.events", "pids/pids.current",
			"cpu/cpu.pressure", "cpu/memory.pressure", "cpu/io.pressure"},
	}
	eachTenth = []string{"memory/memory.stat", "memory/memory.kmem.usage_in_bytes"}
	ofNode    = []string{"/proc/stat", "/proc/loadavg", "/proc/self/statm", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io",
		"/proc/meminfo", "/proc/vmstat", "/proc/sys/fs/dentry-state"}
)

// bareLoop reads the files every 100 ms and does nothing with them, until it is killed. Once a second it prints how
// many ticks were late so far and how many reads a tick makes.
func bareLoop(arguments []string) error {
	root := arguments[0]
	layout, err := cgroup.Detect(root)
	if err != nil {
		return err
	}
	walker := cgroup.Walker{Layout: layout}
	locations, err := walker.Walk(context.Background())
	if err != nil {
		return err
	}
	directory := func(l cgroup.Location, controller string) string {
		return map[string]string{"cpu": l.CPU, "cpuacct": l.CPUAcct, "memory": l.Memory, "pids": l.Pids}[controller]
	}
	var fast, slow []int
	open := func(fds []int, path string) []int {
		if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			fds = append(fds, fd)
		}
		return fds
	}
	for _, path := range ofNode {
		fast = open(fast, path)
	}
	for _, location := range locations {
		limits, _ := cgroup.ReadCPULimits(location)
		for _, name := range eachTick[layout.Version] {
			if filepath.Base(name) == "cpu.stat.local" && limits.QuotaUS <= 0 {
				continue // the collector does not read it without a quota either
			}
			if base := directory(location, filepath.Dir(name)); base != "" {
				fast = open(fast, filepath.Join(base, filepath.Base(name)))
			}
		}
		for _, name := range eachTenth {
			if base := directory(location, filepath.Dir(name)); base != "" {
				slow = open(slow, filepath.Join(base, filepath.Base(name)))
			}
		}
	}
	runtime.LockOSThread()
	priority.Raise() // as the collector
	buffer := make([]byte, 8192)
	late := 0
	for tick := 0; ; tick++ {
		deadline := (time.Now().UnixMicro()/100_000 + 1) * 100_000
		at := unix.NsecToTimespec(deadline * 1000)
		for unix.ClockNanosleep(unix.CLOCK_REALTIME, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
		}
		if time.Now().UnixMicro()-deadline > 10_000 {
			late++
		}
		for _, fd := range fast {
			_, _ = unix.Pread(fd, buffer, 0)
		}
		for i := tick % 10; i < len(slow); i += 10 {
			_, _ = unix.Pread(slow[i], buffer, 0)
		}
		if tick%10 == 0 {
			line := fmt.Sprintf("%d %s\n", late, strconv.FormatFloat(float64(len(fast))+float64(len(slow))/10, 'f', 1, 64))
			if _, err := os.Stdout.WriteString(line); err != nil {
				return err
			}
		}
	}
}
