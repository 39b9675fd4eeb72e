// Package names finds out what a cgroup runs: from its path, and from the kubelet, the container runtime or Docker if
// they can be queried. It works without any of them, with less information.
package names

import (
	"path"
	"regexp"
	"strings"
)

// Managers of a workload, as in the fact workload.manager.
const (
	Kubernetes = "kubernetes"
	Docker     = "docker"
	Containerd = "containerd"
	Systemd    = "systemd"
	None       = "none"
)

// Identity is what the path of a cgroup alone shows.
type Identity struct {
	Manager     string
	PodUID      string // of a pod's cgroup and of the containers in it
	ContainerID string // 64 hexadecimal digits
	Unit        string // systemd unit
}

var (
	containerID = regexp.MustCompile(`^(?:(?:cri-containerd|crio|docker|nerdctl|libpod|containerd)-)?(?:conmon-)?([0-9a-f]{64})(?:\.scope)?$`)
	// kubepods-burstable-pod0123_….slice with the systemd driver, pod0123-… with cgroupfs.
	podComponent = regexp.MustCompile(`^(?:kubepods(?:-[a-z]+)?-)?pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$`)
	unit         = regexp.MustCompile(`\.(?:service|scope|slice|mount|socket|swap)$`)
)

// Identify parses a path below the hierarchy root. The innermost names count, because a cluster can run inside a
// container.
func Identify(cgroupPath string) Identity {
	components := strings.Split(strings.Trim(cgroupPath, "/"), "/")
	last := components[len(components)-1]
	identity := Identity{Manager: None}
	for _, component := range components {
		if match := podComponent.FindStringSubmatch(component); match != nil {
			identity.PodUID = strings.ReplaceAll(match[1], "_", "-")
		} else if strings.HasPrefix(component, "kubepods") || component == "kubelet" {
			identity.Manager = Kubernetes
		}
	}
	if match := containerID.FindStringSubmatch(last); match != nil && !strings.Contains(last, "conmon") {
		identity.ContainerID = match[1]
	}
	switch {
	case identity.PodUID != "":
		identity.Manager = Kubernetes
	case identity.Manager == Kubernetes:
	case identity.ContainerID == "":
		if unit.MatchString(last) {
			identity.Manager, identity.Unit = Systemd, unescape(last)
		}
	case strings.HasPrefix(last, "docker-") || len(components) > 1 && path.Base(path.Dir(cgroupPath)) == "docker":
		identity.Manager = Docker
	case strings.HasPrefix(last, "libpod-") || strings.HasPrefix(last, "crio-"):
		identity.Manager = None // podman and bare CRI-O: the contract has no name for them
	default:
		identity.Manager = Containerd
	}
	return identity
}

// unescape decodes systemd's \x2d.
func unescape(name string) string { return strings.ReplaceAll(name, `\x2d`, "-") }
