package dns

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestResolvConf has a container with its own resolv.conf. Its network is the node's.
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
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Cgroup: cgroups, Sources: []sampler.Source{&resolvConf{now: time.Now}}})
	const want = `{"nameservers":["10.96.0.10"],"search":["a.svc.cluster.local","svc.cluster.local"],"ndots":5,"options":["ndots:5"]}`
	if got := r.Fact("/"+container, "dns.resolv_conf"); got != want {
		t.Error(got)
	}
	if got := r.Fact("/system.slice", "dns.resolv_conf"); got != "" {
		t.Errorf("a cgroup without processes: %s", got)
	}
}

// TestChangedResolvConfIsReadAtOnce changes the file when the next look is far in the future.
func TestChangedResolvConfIsReadAtOnce(t *testing.T) {
	proc := t.TempDir()
	container := "docker/" + strings.Repeat("0123456789abcdef", 4)
	pid, _ := sourcetest.AddProcess(t, proc, "app", "/"+container)
	write := func(ndots int) {
		sourcetest.Write(t, filepath.Join(proc, fmt.Sprint(pid), "root"), "etc/resolv.conf",
			fmt.Sprintf("search a.svc\nnameserver 10.96.0.10\noptions ndots:%d\n", ndots))
	}
	write(5)
	cgroups := sourcetest.Tree(t, map[string]string{
		"cgroup.controllers": "cpu\n", container + "/cpu.stat": "usage_usec 1\n", container + "/cgroup.procs": fmt.Sprintf("%d\n", pid),
	})
	now := time.Unix(1_700_000_000, 0)
	conf := &resolvConf{now: func() time.Time { return now }}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Cgroup: cgroups, Sources: []sampler.Source{conf}})
	for _, seconds := range []int{2, 3, 5, 9, 17} { // due after 1, 2, 4, 8 and 16 s: then after 32
		now = now.Add(time.Duration(seconds) * time.Second)
		conf.Discover(context.Background())
	}
	write(12)
	now = now.Add(resolvCheck - time.Second)
	conf.Discover(context.Background())
	if got := r.Fact("/"+container, "dns.resolv_conf"); !strings.Contains(got, `"ndots":5`) {
		t.Errorf("read too early: %s", got)
	}
	now = now.Add(2 * time.Second)
	conf.Discover(context.Background())
	if got := r.Fact("/"+container, "dns.resolv_conf"); !strings.Contains(got, `"ndots":12`) {
		t.Errorf("not read again: %s", got)
	}
}
