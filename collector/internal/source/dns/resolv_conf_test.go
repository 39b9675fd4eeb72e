package dns

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestResolvConf has a container with a resolv.conf of its own. Its network is the node's.
func TestResolvConf(t *testing.T) {
	proc := t.TempDir()
	container := "docker/" + strings.Repeat("0123456789abcdef", 4)
	pid, _ := sourcetest.AddProcess(t, proc, "app", "/"+container)
	sourcetest.Write(t, filepath.Join(proc, fmt.Sprint(pid), "root"), "etc/resolv.conf",
		"search a.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n")
	cgroups := sourcetest.Tree(t, map[string]string{
		"cgroup.controllers": "cpu\n", container + "/cpu.stat": "usage_usec 1\n", container + "/cgroup.procs": fmt.Sprintf("%d\n", pid),
		"system.slice/cpu.stat": "usage_usec 1\n", "system.slice/cgroup.procs": "",
	})
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Cgroup: cgroups, Sources: []sampler.Source{&resolvConf{}}})
	const want = `{"nameservers":["10.96.0.10"],"search":["a.svc.cluster.local","svc.cluster.local"],"ndots":5,"options":["ndots:5"]}`
	if got := r.Fact("/"+container, "dns.resolv_conf"); got != want {
		t.Error(got)
	}
	if got := r.Fact("/system.slice", "dns.resolv_conf"); got != "" {
		t.Errorf("a cgroup without processes: %s", got)
	}
}
