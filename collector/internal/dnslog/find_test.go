package dnslog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	podUID      = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	containerID = "4d5e6f0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
	cgroupPath  = "/kubepods/burstable/pod" + podUID + "/" + containerID
)

// writeFile creates a file with its directories.
func writeFile(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// link creates a link with its directories.
func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// expectLog expects a container's log to be found in root as this file.
func expectLog(t *testing.T, what, root, software, want string) {
	t.Helper()
	places := Find("/proc", os.Getpid(), software, cgroupPath, []string{"/nonexistent", root})
	var logs []string
	for _, file := range places.Files {
		if file.Container {
			logs = append(logs, file.Path)
		}
	}
	if strings.Join(logs, " ") != want {
		t.Errorf("%s: found %q instead of %q (%s)", what, logs, want, places.Missing)
	}
}

// TestContainerLogs lays out logs as the kubelet with containerd or Docker does. Links are absolute and refer to the
// node's root.
func TestContainerLogs(t *testing.T) {
	root := t.TempDir()
	expectLog(t, "none", root, "coredns", "")

	pod := filepath.Join(root, "var/log/pods/kube-system_node-local-dns-7vqpp_"+podUID)
	only := writeFile(t, filepath.Join(pod, "node-cache/0.log"))
	expectLog(t, "only container of the pod", root, "coredns", only)
	only = writeFile(t, filepath.Join(pod, "node-cache/10.log"))
	writeFile(t, filepath.Join(pod, "node-cache/9.log"))
	writeFile(t, filepath.Join(pod, "node-cache/9.log.20231010-080236"))
	expectLog(t, "after restarts", root, "coredns", only)

	sidecar := writeFile(t, filepath.Join(pod, "sidecar/0.log"))
	expectLog(t, "named like the software", root, "node-cache", only)
	expectLog(t, "one of two", root, "coredns", "")

	link(t, "/var/log/pods/"+filepath.Base(pod)+"/sidecar/0.log",
		filepath.Join(root, "var/log/containers/node-local-dns-7vqpp_kube-system_sidecar-"+containerID+".log"))
	expectLog(t, "by the container's number", root, "node-cache", sidecar)

	docker := filepath.Join(root, "var/lib/docker/containers", containerID, containerID+"-json.log")
	writeFile(t, docker)
	if err := os.Remove(sidecar); err != nil {
		t.Fatal(err)
	}
	link(t, "/var/lib/docker/containers/"+containerID+"/"+containerID+"-json.log", sidecar)
	expectLog(t, "link of Docker's kubelet", root, "node-cache", docker)
	if err := os.RemoveAll(filepath.Join(root, "var/log")); err != nil {
		t.Fatal(err)
	}
	expectLog(t, "Docker alone", root, "coredns", docker)

	link(t, "/var/log/containers/loop", filepath.Join(root, "var/log/containers/loop"))
	link(t, "loop", filepath.Join(root, "var/log/containers/x_y_z-"+containerID+".log"))
	expectLog(t, "links that go round", root, "coredns", docker)
}

// TestOwnLogFiles examines this process, which writes a log itself, as dnsmasq with --log-facility does.
func TestOwnLogFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dnsmasq.log")
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	leases, err := os.OpenFile(path+".leases", os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = leases.Close() }()
	want, err := Identify(path)
	if err != nil {
		t.Fatal(err)
	}
	has := func(software string, wanted FileID) bool {
		for _, file := range Find("/proc", os.Getpid(), software, "/system.slice/dnsmasq.service", nil).Files {
			if file.ID == wanted {
				return true
			}
		}
		return false
	}
	if !has("dnsmasq", want) {
		t.Error("the log of a dnsmasq is not found")
	}
	if has("coredns", want) {
		t.Error("a file that a CoreDNS has open is taken for its log")
	}
	if other, err := Identify(path + ".leases"); err != nil || has("dnsmasq", other) {
		t.Errorf("a file of data is taken for a log (%v)", err)
	}
}

func TestServiceOfAProcess(t *testing.T) {
	proc := t.TempDir()
	for text, want := range map[string]string{
		"12:pids:/x\n1:name=systemd:/system.slice/dnsmasq.service\n0::/system.slice/other.service\n": "dnsmasq.service",
		"0::/system.slice/coredns.service/sub\n":                                                     "coredns.service",
		"0::/user.slice/user-0.slice/session-1.scope\n":                                              "",
		"": "",
	} {
		if err := os.WriteFile(writeFile(t, filepath.Join(proc, "7/cgroup")), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := unitOf(proc, 7); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
