package livetest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestResolvConfOfAContainer runs a process in its own cgroup, network and file system and gives it its address and
// resolv.conf only after a while, as a container runtime does. A process that resolves names like the node is not
// reported.
func TestResolvConfOfAContainer(t *testing.T) {
	t.Parallel()
	inNamespace(t)
	directory, path := cgroupFor(t, -1)
	plainDirectory, plainPath := cgroupFor(t, -1)
	file := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte("search a.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const script = `sleep 0.5; mount --make-rprivate / && mount --bind "$1" /etc/resolv.conf && ip link set lo up && ip link add pod type veth peer name other &&
ip addr add 10.99.7.5/24 dev pod && ip addr add 2001:db8::7:5/64 dev pod nodad && ip link set pod up && echo ready && exec cat >&2`
	o := observe(t, "resolv_conf")
	o.needs("resolv_conf")
	startServer(t, append(inCgroup(directory), "unshare", "--net", "--mount"), "sh", "-c", script, "sh", file)
	startServer(t, inCgroup(plainDirectory), "sh", "-c", "echo ready && exec cat >&2")
	waitFor(t, "addresses", func() bool { return o.fact(path, "net.addresses") == `["10.99.7.5","2001:db8::7:5"]` })
	const want = `{"nameservers":["10.96.0.10"],"search":["a.svc.cluster.local","svc.cluster.local"],"ndots":5,"options":["ndots:5"]}`
	waitFor(t, "resolv.conf", func() bool { return o.fact(path, "dns.resolv_conf") == want }, func() string { return o.fact(path, "dns.resolv_conf") })
	if got := o.fact(plainPath, "dns.resolv_conf") + o.fact(plainPath, "net.addresses"); got != "" {
		t.Errorf("of a process like any other: %s", got)
	}
}
