package names

// sandboxProgram is what runs in a pod's sandbox: it holds the pod's namespaces and does nothing.
const sandboxProgram = "pause"

// MayBeSandbox tells whether the cgroup is a container's of a pod, which a pod's sandbox looks like from outside.
func MayBeSandbox(cgroupPath string) bool {
	identity := Identify(cgroupPath)
	return identity.PodUID != "" && identity.ContainerID != ""
}

// IsSandbox tells whether a process is a pod's sandbox, by its command (/proc/PID/comm) and its cgroup. Every runtime that
// has sandboxes starts a program of this name in them.
func IsSandbox(command, cgroupPath string) bool {
	return command == sandboxProgram && MayBeSandbox(cgroupPath)
}
