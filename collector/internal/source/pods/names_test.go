package pods

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestNames has a Docker that knows one of two containers, and a unit of systemd.
func TestNames(t *testing.T) {
	known, unknown := strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)
	cgroups := sourcetest.Tree(t, map[string]string{"cgroup.controllers": "cpu\n"})
	for _, path := range []string{"docker/" + known, "docker/" + unknown, "system.slice/nginx.service"} {
		sourcetest.Write(t, cgroups, path+"/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n")
	}
	socket := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"Id":"` + known + `","Names":["/web-1"],"Image":"nginx:1.27","Labels":{}}]`))
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	r := sourcetest.Start(t, sourcetest.Setup{
		Cgroup: cgroups, Options: fmt.Sprintf("kubelet = \"off\"\ndocker_socket = %q\ncri_sockets = []\n", socket), Sources: []sampler.Source{&workloadNames{}},
	})
	r.Eventually("the container has a name", func() bool { return r.Fact("/docker/"+known, "workload.container") == "web-1" })
	for _, want := range [][3]string{
		{"/docker/" + known, "workload.image", "nginx:1.27"}, {"/docker/" + known, "workload.manager", "docker"},
		{"/docker/" + unknown, "workload.container", unknown[:12]}, {"/docker/" + unknown, "workload.image", ""}, {"/docker/" + unknown, "workload.manager", "docker"},
		{"/system.slice/nginx.service", "workload.container", "nginx.service"}, {"/system.slice/nginx.service", "workload.manager", "systemd"},
	} {
		if got := r.Fact(want[0], want[1]); got != want[2] {
			t.Errorf("%s of %s is %q, want %q", want[1], want[0], got, want[2])
		}
	}
}
