package names

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Kind is what a runtime made a container for.
type Kind int

// Kinds. A pod's sandbox holds the pod's namespaces; its program does nothing.
const (
	UnknownKind Kind = iota
	Workload
	Sandbox
)

// SandboxProgram is what runs in a sandbox. Workloads may run a program of that name too, as placeholders do that keep room
// on a node: the name alone makes no sandbox.
const SandboxProgram = "pause"

// MayBeSandbox tells whether the cgroup is a container's of a pod, which a pod's sandbox looks like from outside.
func MayBeSandbox(cgroupPath string) bool {
	identity := Identify(cgroupPath)
	return identity.PodUID != "" && identity.ContainerID != ""
}

// maxAncestors is how far above a process of a container its runtime's monitor is looked for.
const maxAncestors = 8

// KindByMonitor reads what the runtime's monitor of a process says on its command line of the container with this id. It needs
// no right beyond seeing the node's processes. UnknownKind where the monitor does not say, as Docker's.
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

// kindByCommandLine reads the command line of a process, with a zero byte behind each word; is tells whether it is a monitor.
func kindByCommandLine(text []byte, containerID string) (kind Kind, is bool) {
	words := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	program := filepath.Base(words[0])
	switch {
	// containerd has one for all containers of a pod, with the id of the first, the sandbox. Its older ones, and those of
	// Docker (-namespace moby), have one for each container. In sandboxes of other kinds (Kata, gVisor) the pod's programs run.
	case strings.HasPrefix(program, "containerd-shim"):
		id := option(words, "-id")
		if program != "containerd-shim-runc-v2" || option(words, "-namespace") != "k8s.io" || id == "" {
			return UnknownKind, true
		}
		if id == containerID {
			return Sandbox, true
		}
		return Workload, true
	// CRI-O has one for each container, with its name as Kubernetes forms it: k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT.
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

// option is the word behind a flag.
func option(words []string, flag string) string {
	for i, word := range words[:len(words)-1] {
		if word == flag {
			return words[i+1]
		}
	}
	return ""
}

// parent reads the parent of a process; 0 where there is none.
func parent(proc string, pid int) int {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the command may hold anything
	if len(fields) < 2 {
		return 0
	}
	number, _ := strconv.Atoi(string(fields[1]))
	return number
}
