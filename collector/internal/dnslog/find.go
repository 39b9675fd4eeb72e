package dnslog

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jitterscope/jitterscope/collector/internal/names"
)

// Target is where a server's log can be read.
type Target struct {
	ID        FileID
	Path      string // of a file, or of the descriptor in /proc/PID/fd that writes it
	Container bool   // written by a container runtime, which rotates files
}

// Places is where a server's log was found.
type Places struct {
	Files []Target
	Unit  string // systemd unit whose output goes to the journal, "" if none
	// Missing is why there is neither, "" if there is one.
	Missing string
}

const (
	maxDescriptors = 256 // examined in a process that writes log files itself
	maxTargets     = 4   // per process
	maxLinks       = 8   // followed per file
)

// writesFiles are servers that open log files themselves; the others log to standard output and error.
var writesFiles = []string{"dnsmasq", "unbound", "named", "pdns_recursor", "knot-resolver"}

// Find looks for the log of a process. software is what procwatch.Process.DNS says, cgroup its path. roots are where
// the node's file system might be visible: "/" and, inside a container that shares the node's PID namespace,
// "/proc/1/root".
func Find(proc string, pid int, software, cgroup string, roots []string) Places {
	var places Places
	directory := filepath.Join(proc, strconv.Itoa(pid), "fd")
	piped, socket := false, false
	for _, descriptor := range descriptors(directory, slices.Contains(writesFiles, software)) {
		path := filepath.Join(directory, descriptor)
		target, err := os.Readlink(path)
		if err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(target, "pipe:"):
			piped = true
		case strings.HasPrefix(target, "socket:"):
			socket = true
		case strings.HasPrefix(target, "/dev/"), strings.HasPrefix(target, "anon_inode:"):
		default:
			if (descriptor == "1" || descriptor == "2" || appends(proc, pid, descriptor)) && len(places.Files) < maxTargets {
				places.add(Target{Path: path})
			}
		}
	}
	if identity := names.Identify(cgroup); identity.ContainerID != "" || identity.PodUID != "" {
		if path := containerLog(identity, software, roots); path != "" {
			places.add(Target{Path: path, Container: true})
		} else if len(places.Files) == 0 {
			places.Missing = "the log of its container is not in /var/log/containers, /var/log/pods or /var/lib/docker/containers"
		}
		return places
	}
	// A daemon without standard error logs to syslog, which is the journal if systemd runs.
	if unit := unitOf(proc, pid); unit != "" && (socket || (len(places.Files) == 0 && !piped)) {
		places.Unit = unit
	}
	if len(places.Files) == 0 && places.Unit == "" {
		switch {
		case piped:
			places.Missing = "it writes to a pipe to another process"
		case socket:
			places.Missing = "it writes to a socket and is not a systemd service"
		default:
			places.Missing = "it writes to a terminal or nowhere"
		}
	}
	return places
}

// add adds a file once.
func (p *Places) add(target Target) {
	id, err := Identify(target.Path)
	if err != nil {
		return
	}
	target.ID = id
	if !slices.ContainsFunc(p.Files, func(t Target) bool { return t.ID == id }) {
		p.Files = append(p.Files, target)
	}
}

// descriptors lists standard output and error, and all others if they might be logs.
func descriptors(directory string, all bool) []string {
	if !all {
		return []string{"1", "2"}
	}
	handle, err := os.Open(directory)
	if err != nil {
		return nil
	}
	defer func() { _ = handle.Close() }()
	found, _ := handle.Readdirnames(maxDescriptors)
	return slices.DeleteFunc(found, func(name string) bool { return name == "0" })
}

// appends reports whether a descriptor is open only for appending, as those of logs are and those of data are not.
func appends(proc string, pid int, descriptor string) bool {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "fdinfo", descriptor))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("flags:")); ok {
			flags, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 8, 64)
			return err == nil && flags&syscall.O_ACCMODE == syscall.O_WRONLY && flags&syscall.O_APPEND != 0
		}
	}
	return false
}

// containerLog finds the file that the container runtime writes.
func containerLog(identity names.Identity, software string, roots []string) string {
	for _, root := range roots {
		if identity.ContainerID != "" {
			// The kubelet's links: POD_NAMESPACE_CONTAINER-ID.log.
			if links, _ := filepath.Glob(filepath.Join(root, "var/log/containers", "*-"+identity.ContainerID+".log")); len(links) > 0 {
				if path := follow(root, links[0]); path != "" {
					return path
				}
			}
			docker := filepath.Join(root, "var/lib/docker/containers", identity.ContainerID, identity.ContainerID+"-json.log")
			if _, err := Identify(docker); err == nil {
				return docker
			}
		}
		if identity.PodUID != "" {
			if path := podLog(root, identity.PodUID, software); path != "" {
				return path
			}
		}
	}
	return ""
}

// podLog chooses among the logs of a pod, NAMESPACE_POD_UID/CONTAINER/RESTARTS.log: that of its only container, or of
// the one named like the software.
func podLog(root, podUID, software string) string {
	containers, _ := filepath.Glob(filepath.Join(root, "var/log/pods", "*_"+podUID, "*"))
	if len(containers) > 1 {
		containers = slices.DeleteFunc(containers, func(path string) bool {
			return !strings.Contains(filepath.Base(path), software)
		})
	}
	if len(containers) != 1 {
		return ""
	}
	newest, path := -1, ""
	logs, _ := filepath.Glob(filepath.Join(containers[0], "*.log"))
	for _, log := range logs {
		if restarts, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(log), ".log")); err == nil && restarts > newest {
			newest, path = restarts, log
		}
	}
	if path == "" {
		return ""
	}
	return follow(root, path)
}

// follow resolves links relative to root, "" if there is no file.
func follow(root, path string) string {
	for range maxLinks {
		target, err := os.Readlink(path)
		if err != nil {
			if _, err := Identify(path); err != nil {
				return ""
			}
			return path
		}
		if filepath.IsAbs(target) {
			path = filepath.Join(root, target)
		} else {
			path = filepath.Join(filepath.Dir(path), target)
		}
	}
	return ""
}

// unitOf is the systemd unit of a process, "" if it has none: the service in its path in systemd's own hierarchy.
func unitOf(proc string, pid int) string {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return ""
	}
	unified := ""
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if controllers == "name=systemd" {
			return serviceIn(path)
		}
		if number == "0" {
			unified = path
		}
	}
	return serviceIn(unified)
}

func serviceIn(path string) string {
	for component := range strings.SplitSeq(path, "/") {
		if strings.HasSuffix(component, ".service") {
			return component
		}
	}
	return ""
}
