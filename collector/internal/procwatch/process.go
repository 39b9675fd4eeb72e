// Package procwatch finds the processes that are worth watching: DNS servers, those in cgroups with a CPU limit, those
// that listen on TCP, and Go programs in containers. The sources that inspect processes share one Watcher.
package procwatch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
)

// Process is a watched process. It is immutable; a process that moves to another cgroup becomes another Process.
type Process struct {
	PID        int
	StartTicks uint64 // since boot; together with PID it identifies the process uniquely
	Command    string // comm
	Executable string // base name
	Cgroup     string // path below the hierarchy root of the CPU controller
	NetworkNS  uint64 // inode of its network namespace, 0 if it cannot be read
	DNS        string // "coredns", "dnsmasq", …; "" for others
	Go         *goruntime.Info
	Resource   batch.ResourceID
}

// Key is the resource key.
func (p *Process) Key() string {
	return strconv.Itoa(p.PID) + ":" + strconv.FormatUint(p.StartTicks, 10)
}

// knownServers are DNS servers by the name of their executable.
var knownServers = map[string]string{
	"coredns": "coredns", "dnsmasq": "dnsmasq", "unbound": "unbound", "named": "named", "pdns_recursor": "pdns_recursor",
	"pdns_server": "pdns_server", "kresd": "knot-resolver", "knot-resolver": "knot-resolver", "knotd": "knot", "nsd": "nsd",
	"node-cache": "node-cache", "kube-dns": "kube-dns", "systemd-resolve": "systemd-resolved",
	"systemd-resolved": "systemd-resolved",
}

var version = regexp.MustCompile(`[-_.]?v?[0-9][^a-z]*$`)

// serverName recognizes a DNS server by its executable, "coredns" as well as "coredns-v1.12.0", or by its Go module.
func serverName(executable string, info *goruntime.Info) string {
	if known := knownServers[executable]; known != "" {
		return known
	}
	if known := knownServers[version.ReplaceAllString(executable, "")]; known != "" {
		return known
	}
	if info != nil && strings.HasPrefix(info.MainModule, "github.com/coredns/coredns@") {
		return "coredns"
	}
	return ""
}

// status is what a scan reads of a process.
type status struct {
	command    string
	parent     int
	startTicks uint64
	threads    int
}

// readStat parses /proc/PID/stat. The command can contain spaces and parentheses: the last one closes it.
func readStat(proc string, pid int) (status, bool) {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return status{}, false
	}
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return status{}, false
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return status{}, false
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return status{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	threads, _ := strconv.Atoi(string(fields[17]))
	return status{command: string(text[open+1 : end]), parent: parent, startTicks: start, threads: threads}, true
}

// StartTicks is when a process started, in hundredths of a second since boot; false if there is no such process.
func StartTicks(proc string, pid int) (uint64, bool) {
	stat, ok := readStat(proc, pid)
	return stat.startTicks, ok
}

// Executable is the base name of the executable of a process, or its command if that cannot be read.
func Executable(proc string, pid int) string {
	if target, err := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "exe")); err == nil {
		return filepath.Base(strings.TrimSuffix(target, " (deleted)"))
	}
	stat, _ := readStat(proc, pid)
	return stat.command
}

// Age is the age of a process with this start time. /proc/PID/stat counts in hundredths of a second on every
// architecture (USER_HZ).
func Age(proc string, startTicks uint64) (time.Duration, bool) {
	text, err := os.ReadFile(filepath.Join(proc, "uptime"))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	uptime, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration((uptime - float64(startTicks)/100) * float64(time.Second)), true
}

// Young is the age up to which everything that a process has counted is considered new: for an old one that is history.
const Young = 30 * time.Second

// CgroupOf returns the path in the hierarchy of the CPU controller: v1 "4:cpu,cpuacct:/path", v2 "0::/path".
func CgroupOf(text []byte) string {
	unified := "/"
	for _, line := range strings.Split(string(text), "\n") {
		number, rest, ok := strings.Cut(line, ":")
		controllers, path, ok2 := strings.Cut(rest, ":")
		if !ok || !ok2 {
			continue
		}
		if number == "0" {
			unified = path
			continue
		}
		for _, controller := range strings.Split(controllers, ",") {
			if controller == "cpu" {
				return path
			}
		}
	}
	return unified
}

// inContainer reports whether a cgroup path looks like one of a container runtime.
func inContainer(path string) bool {
	for _, word := range []string{"kubepods", "docker", "containerd", "crio", "libpod", "lxc", "garden"} {
		if strings.Contains(path, word) {
			return true
		}
	}
	return false
}

// NetworkNS returns the inode of the network namespace of a process, 0 if it cannot be read.
func NetworkNS(proc string, pid int) uint64 {
	target, err := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "ns/net"))
	if err != nil {
		return 0
	}
	number, _ := strings.CutPrefix(target, "net:[")
	inode, _ := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
	return inode
}

// PIDs lists the processes.
func PIDs(proc string) ([]int, error) {
	handle, err := os.Open(proc)
	if err != nil {
		return nil, err
	}
	defer func() { _ = handle.Close() }()
	var found []int
	for {
		names, err := handle.Readdirnames(512)
		for _, name := range names {
			if name[0] >= '1' && name[0] <= '9' {
				if pid, err := strconv.Atoi(name); err == nil {
					found = append(found, pid)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
