package pods

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestNames has a Docker that knows one of two containers, and a systemd unit.
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

// TestObjectiveOfAPod has a kubelet whose pod has an objective, then another one, then none. An unknown container makes
// the source query it again every 2 s.
func TestObjectiveOfAPod(t *testing.T) {
	const pod = "9118fc9a-5622-43c2-a6a9-ea0a582ea247"
	known, unknown := strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)
	path := "/kubepods/burstable/pod" + pod + "/" + known
	cgroups := sourcetest.Tree(t, map[string]string{"cgroup.controllers": "cpu\n"})
	for _, group := range []string{path, "/docker/" + unknown} {
		sourcetest.Write(t, cgroups, group[1:]+"/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n")
	}
	var annotations atomic.Value
	annotations.Store(`"jitterscope.io/objective":"p99<50ms"`)
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"items":[{"metadata":{"name":"cart-1","namespace":"shop","uid":%q,"annotations":{%s}},"spec":{},
			"status":{"containerStatuses":[{"name":"cart","containerID":"containerd://%s"}]}}]}`, pod, annotations.Load(), known)
	}))
	t.Cleanup(kubelet.Close)
	r := sourcetest.Start(t, sourcetest.Setup{
		Cgroup: cgroups, Options: fmt.Sprintf("kubelet = %q\ndocker_socket = \"/none\"\ncri_sockets = []\n", kubelet.URL),
		Sources: []sampler.Source{&workloadNames{}},
	})
	for _, step := range [][2]string{{"", "p99<50ms"}, {`"jitterscope.io/objective":"p95<2s"`, "p95<2s"}, {`"other":"p95<2s"`, ""}} {
		if step[0] != "" {
			annotations.Store(step[0])
		}
		r.Eventually("the objective is "+step[1], func() bool {
			return r.Fact(path, "workload.container") == "cart" && r.Fact(path, "workload.objective") == step[1]
		})
	}
}

// TestANameIsKept has a kubelet that lists a container, then starts again and lists nothing, while the container runs on.
func TestANameIsKept(t *testing.T) {
	const pod = "9118fc9a-5622-43c2-a6a9-ea0a582ea247"
	known, later := strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)
	path := "/kubepods/burstable/pod" + pod + "/"
	cgroups := sourcetest.Tree(t, map[string]string{"cgroup.controllers": "cpu\n"})
	for _, id := range []string{known, later} {
		sourcetest.Write(t, cgroups, path[1:]+id+"/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n")
	}
	var id atomic.Value
	id.Store(known)
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"items":[{"metadata":{"name":"cart-1","namespace":"shop","uid":%q},"spec":{},
			"status":{"containerStatuses":[{"name":"cart","containerID":"containerd://%s"}]}}]}`, pod, id.Load())
	}))
	t.Cleanup(kubelet.Close)
	r := sourcetest.Start(t, sourcetest.Setup{
		Cgroup: cgroups, Options: fmt.Sprintf("kubelet = %q\ndocker_socket = \"/none\"\ncri_sockets = []\n", kubelet.URL),
		Sources: []sampler.Source{&workloadNames{}},
	})
	r.Eventually("the first has a name", func() bool { return r.Fact(path+known, "workload.container") == "cart" })
	id.Store(later)
	r.Eventually("the second has a name", func() bool { return r.Fact(path+later, "workload.container") == "cart" })
	if got := r.Fact(path+known, "workload.container"); got != "cart" {
		t.Errorf("the first is now %q", got)
	}
}

// TestANewContainerIsWaitedFor: the runtime lists it first, with an ID instead of an image's name; the kubelet lists it
// after the first question, when it would not be asked again for a minute.
func TestANewContainerIsWaitedFor(t *testing.T) {
	const pod = "9118fc9a-5622-43c2-a6a9-ea0a582ea247"
	id := strings.Repeat("0123456789abcdef", 4)
	path := "/kubepods/burstable/pod" + pod + "/" + id
	cgroups := sourcetest.Tree(t, map[string]string{"cgroup.controllers": "cpu\n", path[1:] + "/cpu.stat": "usage_usec 1\nuser_usec 1\nsystem_usec 0\n"})
	var asked atomic.Int32
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		statuses := ""
		if asked.Add(1) > 1 {
			statuses = fmt.Sprintf(`{"name":"cart","image":"cart:1","containerID":"docker://%s"}`, id)
		}
		_, _ = fmt.Fprintf(w, `{"items":[{"metadata":{"name":"cart-1","namespace":"shop","uid":%q,"creationTimestamp":"2026-11-28T21:00:00Z"},
			"spec":{"containers":[{"name":"cart","image":"cart:1"}]},"status":{"containerStatuses":[%s]}}]}`, pod, statuses)
	}))
	t.Cleanup(kubelet.Close)
	socket := filepath.Join(t.TempDir(), "docker")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	runtime := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `[{"Id":%q,"Names":["/k8s_cart"],"Image":"sha256:c029","Labels":{"io.kubernetes.pod.uid":%q,
			"io.kubernetes.pod.name":"cart-1","io.kubernetes.pod.namespace":"shop","io.kubernetes.container.name":"cart"}}]`, id, pod)
	})}
	go func() { _ = runtime.Serve(listener) }()
	t.Cleanup(func() { _ = runtime.Close() })
	r := sourcetest.Start(t, sourcetest.Setup{
		Cgroup: cgroups, Options: fmt.Sprintf("kubelet = %q\ndocker_socket = %q\ncri_sockets = []\n", kubelet.URL, socket),
		Sources: []sampler.Source{&workloadNames{}},
	})
	r.Eventually("it has the name of its image", func() bool { return r.Fact(path, "workload.image") == "cart:1" })
	if got := r.Fact(path, "workload.container"); got != "cart" {
		t.Error(got)
	}
}

// TestEvictedPods has a kubelet with a pod that was evicted long before the collector started, and later another one.
func TestEvictedPods(t *testing.T) {
	const pod = `{"metadata":{"name":%[1]q,"namespace":"shop","uid":%[1]q},"spec":{},"status":{"conditions":[
		{"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet","message":"The node was low on resource: memory.","lastTransitionTime":%q}]}}`
	unknown := strings.Repeat("fedcba9876543210", 4)
	cgroups := sourcetest.Tree(t, map[string]string{"cgroup.controllers": "cpu\n"})
	sourcetest.Write(t, cgroups, "docker/"+unknown+"/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n")
	old := fmt.Sprintf(pod, "old", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	var pods atomic.Value
	pods.Store(old)
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"items":[%s]}`, pods.Load())
	}))
	t.Cleanup(kubelet.Close)
	r := sourcetest.Start(t, sourcetest.Setup{
		Cgroup: cgroups, Options: fmt.Sprintf("kubelet = %q\ndocker_socket = \"/none\"\ncri_sockets = []\n", kubelet.URL),
		Sources: []sampler.Source{&workloadNames{}},
	})
	pods.Store(old + "," + fmt.Sprintf(pod, "new", time.Now().UTC().Format(time.RFC3339)))
	r.Eventually("an eviction", func() bool { return len(r.Events(sourcetest.Node, "pod.evicted")) > 0 })
	want := map[string]string{"namespace": "shop", "pod": "new", "reason": "TerminationByKubelet", "message": "The node was low on resource: memory."}
	if got := r.Events(sourcetest.Node, "pod.evicted"); len(got) != 1 || !maps.Equal(got[0], want) {
		t.Errorf("%v", got)
	}
}
