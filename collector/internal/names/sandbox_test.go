package names

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const otherID = "1111cd1b2ec1d8877d7a6a412759d20646f39aec47ff5e3bfd6cfe96f7c9bcff"

func TestKindByCommandLine(t *testing.T) {
	const shim = "/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id " + id + " -address /run/containerd/containerd.sock"
	const conmon = "/usr/bin/conmon -b /run/containers/storage/overlay-containers/x/userdata -c " + id + " --exit-dir /run/crio/exits -n "
	for _, c := range []struct {
		line, container string
		kind            Kind
		is              bool
	}{
		{shim, id, Sandbox, true},
		{shim, otherID, Workload, true},
		// The pod's programs run in it.
		{strings.Replace(shim, "runc-v2", "kata-v2", 1), id, UnknownKind, true},
		// One per container: its id says nothing.
		{strings.Replace(shim, "k8s.io", "moby", 1), id, UnknownKind, true},
		{strings.Replace(shim, "runc-v2", "runc-v1", 1), id, UnknownKind, true},
		{"containerd-shim -namespace k8s.io -workdir /var/lib/containerd/io.containerd.runtime.v1.linux/k8s.io/" + id, id, UnknownKind, true},
		{"containerd-shim-runc-v2 -namespace k8s.io -id", id, UnknownKind, true},
		{conmon + "k8s_POD_coredns-1_kube-system_" + uid + "_0 -P /run/x", id, Sandbox, true},
		{conmon + "k8s_pause_placeholder-1_shop_" + uid + "_0", id, Workload, true},
		{conmon + "k8s_POD_coredns-1_kube-system_" + uid + "_0", otherID, UnknownKind, true},
		{conmon + "a-container-of-podman", id, UnknownKind, true},
		{"/pause", id, UnknownKind, false},
		{"sh -c containerd-shim-runc-v2", id, UnknownKind, false},
		{"", id, UnknownKind, false},
	} {
		kind, is := kindByCommandLine([]byte(strings.ReplaceAll(c.line, " ", "\x00")+"\x00"), c.container)
		if kind != c.kind || is != c.is {
			t.Errorf("%s of %.4s: %v, %v", c.line, c.container, kind, is)
		}
	}
}

// TestKindByMonitor looks for the monitor above a process, up to the limit.
func TestKindByMonitor(t *testing.T) {
	proc := t.TempDir()
	process := func(pid, parent int, command, line string) {
		t.Helper()
		folder := filepath.Join(proc, strconv.Itoa(pid))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		stat := strconv.Itoa(pid) + " (" + command + ") S " + strconv.Itoa(parent) + " 1 1 0 -1\n"
		for name, text := range map[string]string{"stat": stat, "cmdline": strings.ReplaceAll(line, " ", "\x00") + "\x00"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	process(1, 0, "systemd", "/sbin/init")
	process(50, 1, "containerd-shim", "/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id "+id+" -address /run/containerd/containerd.sock")
	process(51, 50, "pause", "/pause")
	process(52, 50, "a) S 1 (b", "sh")
	process(53, 52, "pause", "/pause")
	process(60, 1, "pause", "/pause")
	for _, c := range []struct {
		pid       int
		container string
		want      Kind
	}{
		{51, id, Sandbox}, {52, otherID, Workload}, {53, otherID, Workload}, {60, id, UnknownKind}, {99, id, UnknownKind},
	} {
		if got := KindByMonitor(proc, c.pid, c.container); got != c.want {
			t.Errorf("%d of %.4s: %v, want %v", c.pid, c.container, got, c.want)
		}
	}
	for pid := 100; pid < 120; pid++ { // a long line of ancestors is not followed to its end
		process(pid, pid-1, "sh", "sh")
	}
	process(99, 50, "sh", "sh")
	if got := KindByMonitor(proc, 119, id); got != UnknownKind {
		t.Errorf("%v", got)
	}
}
