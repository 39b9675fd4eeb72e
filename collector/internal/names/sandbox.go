package names

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Kind is the purpose for which a runtime created a container.
type Kind int

// Kinds. A pod's sandbox holds the pod's namespaces; its program does nothing.
const (
	UnknownKind Kind = iota
	Workload
	Sandbox
)

// SandboxProgram is the program in a sandbox. Workloads can run a program of that name too, as placeholders that
// reserve room on a node do: the name alone does not make a sandbox.
const SandboxProgram = "pause"

// MayBeSandbox reports whether the cgroup belongs to a container of a pod, which is what a pod's sandbox looks like
// from outside.
func MayBeSandbox(cgroupPath string) bool {
	identity := Identify(cgroupPath)
	return identity.PodUID != "" && identity.ContainerID != ""
}

// maxAncestors is how many ancestors of a container's process are searched for its runtime's monitor.
const maxAncestors = 8

// KindByMonitor reads what the command line of a process's runtime monitor says about the container with this id. It
// needs no permission beyond seeing the node's processes. It returns UnknownKind if the monitor does not say, as with
// Docker.
func KindByMonitor(proc string, pid int, containerID string) Kind {
	for range maxAncestors {
		pid = parent(proc, pid)
		if pid <= 1 {
			return UnknownKind
		}
		text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cmdline"))
		if err != nil {
			return UnknownKind
		}
		if kind, is := kindByCommandLine(text, containerID); is {
			return kind
		}
	}
	return UnknownKind
}

// kindByCommandLine parses the command line of a process, in which each word is followed by a zero byte; is reports
// whether it is a monitor.
func kindByCommandLine(text []byte, containerID string) (kind Kind, is bool) {
	words := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	program := filepath.Base(words[0])
	switch {
	// containerd has one for all containers of a pod, with the id of the first, the sandbox. Its older versions, and
	// those of Docker (-namespace moby), have one for each container. In sandboxes of other kinds (Kata, gVisor) the
	// pod's programs run.
	case strings.HasPrefix(program, "containerd-shim"):
		id := option(words, "-id")
		if program != "containerd-shim-runc-v2" || option(words, "-namespace") != "k8s.io" || id == "" {
			return UnknownKind, true
		}
		if id == containerID {
			return Sandbox, true
		}
		return Workload, true
	// CRI-O has one for each container, with the name that Kubernetes forms: k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT.
	case program == "conmon":
		name := option(words, "-n")
		if option(words, "-c") != containerID || !strings.HasPrefix(name, "k8s_") {
			return UnknownKind, true
		}
		if strings.HasPrefix(name, "k8s_POD_") {
			return Sandbox, true
		}
		return Workload, true
	}
	return UnknownKind, false
}

// option is the word after a flag.
func option(words []string, flag string) string {
	for i, word := range words[:len(words)-1] {
		if word == flag {
			return words[i+1]
		}
	}
	return ""
}

// parent reads the parent of a process; 0 if there is none.
func parent(proc string, pid int) int {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the command can contain anything
	if len(fields) < 2 {
		return 0
	}
	number, _ := strconv.Atoi(string(fields[1]))
	return number
}
