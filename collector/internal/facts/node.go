// Package facts collects slowly changing facts about the node and about what each cgroup runs.
package facts

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

// Node returns the facts of this machine by name. Facts that cannot be read are left out.
func Node(procRoot string) map[string]string {
	facts := make(map[string]string)
	if name, err := os.Hostname(); err == nil {
		facts[catalogue.FactNodeHostname] = name
	}
	// From the downward API (spec.nodeName): a pod sees at most a host name.
	if name := os.Getenv("JITTERSCOPE_NODE_NAME"); name != "" {
		facts[catalogue.FactNodeName] = name
	}
	var uname unix.Utsname
	if unix.Uname(&uname) == nil {
		facts[catalogue.FactNodeKernel] = unix.ByteSliceToString(uname.Release[:])
	}
	for _, path := range []string{filepath.Join(procRoot, "1/root/etc/os-release"), "/etc/os-release", "/usr/lib/os-release"} {
		if name := prettyName(path); name != "" {
			facts[catalogue.FactNodeOS] = name
			break
		}
	}
	if count := onlineCPUs(filepath.Join(procRoot, "stat")); count > 0 {
		facts[catalogue.FactNodeCpus] = strconv.Itoa(count)
	}
	if text, err := os.ReadFile(filepath.Join(procRoot, "meminfo")); err == nil {
		if bytes, ok := memTotal(text); ok {
			facts[catalogue.FactNodeMemoryBytes] = strconv.FormatUint(bytes, 10)
		}
	}
	return facts
}

// prettyName reads PRETTY_NAME of an os-release file; in a container /proc/1/root leads to the host's if permitted.
func prettyName(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			if unquoted, err := strconv.Unquote(value); err == nil {
				return unquoted
			}
			return strings.Trim(value, "'\"")
		}
	}
	return ""
}

// onlineCPUs counts the cpuN lines of /proc/stat: the CPUs of the machine, not those available to this process.
func onlineCPUs(path string) int {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	count := 0
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 4096), 1<<20)
	for scanner.Scan() {
		line := scanner.Bytes()
		if !bytes.HasPrefix(line, []byte("cpu")) {
			break
		}
		if len(line) > 3 && line[3] != ' ' {
			count++
		}
	}
	return count
}

func memTotal(text []byte) (bytesTotal uint64, ok bool) {
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte("MemTotal:")); found {
			fields := bytes.Fields(rest)
			if len(fields) == 0 {
				return 0, false
			}
			kib, err := strconv.ParseUint(string(fields[0]), 10, 64)
			return kib * 1024, err == nil
		}
	}
	return 0, false
}

// NodeKey is the identity of this machine: its machine id, or else one that is generated once and kept in directory.
func NodeKey(procRoot, directory string) (string, error) {
	candidates := []string{filepath.Join(procRoot, "1/root/etc/machine-id"), "/etc/machine-id", "/var/lib/dbus/machine-id"}
	kept := filepath.Join(directory, "node-id")
	for _, path := range append(candidates, kept) {
		text, err := os.ReadFile(path)
		if id := strings.TrimSpace(string(text)); err == nil && len(id) == 32 {
			if _, err := hex.DecodeString(id); err == nil {
				return id, nil
			}
		}
	}
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("node key: %w", err)
	}
	id := hex.EncodeToString(random[:])
	if err := os.WriteFile(kept, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("node key: %w", err)
	}
	return id, nil
}
