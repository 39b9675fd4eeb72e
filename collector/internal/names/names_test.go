package names

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	id  = "0c8cd1b2ec1d8877d7a6a412759d20646f39aec47ff5e3bfd6cfe96f7c9bcfff"
	uid = "9118fc9a-5622-43c2-a6a9-ea0a582ea247"
)

func TestIdentify(t *testing.T) {
	systemdUID := strings.ReplaceAll(uid, "-", "_")
	for path, want := range map[string]Identity{
		// The path of case 1: containerd with the systemd driver.
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + systemdUID + ".slice/cri-containerd-" + id + ".scope": {Kubernetes, uid, id, ""},
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + systemdUID + ".slice":                                 {Kubernetes, uid, "", ""},
		"/kubepods.slice/kubepods-pod" + systemdUID + ".slice/crio-" + id + ".scope":                                              {Kubernetes, uid, id, ""},
		"/kubepods/besteffort/pod" + uid + "/" + id:                                                                               {Kubernetes, uid, id, ""},
		"/kubepods/burstable":                      {Kubernetes, "", "", ""},
		"/kubepods.slice/kubepods-burstable.slice": {Kubernetes, "", "", ""},
		// A static pod: its uid is a hash without dashes.
		"/kubepods/burstable/pod" + strings.ReplaceAll(uid, "-", "") + "/" + id: {Kubernetes, strings.ReplaceAll(uid, "-", ""), id, ""},
		// kind: a cluster in a Docker container.
		"/docker/" + id + "/kubelet/kubepods/burstable/pod" + uid + "/" + id: {Kubernetes, uid, id, ""},
		"/docker/" + id:                            {Docker, "", id, ""},
		"/system.slice/docker-" + id + ".scope":    {Docker, "", id, ""},
		"/system.slice/nerdctl-" + id + ".scope":   {Containerd, "", id, ""},
		"/default/" + id:                           {Containerd, "", id, ""},
		"/machine.slice/libpod-" + id + ".scope":   {None, "", id, ""},
		"/system.slice/nginx.service":              {Systemd, "", "", "nginx.service"},
		"/system.slice":                            {Systemd, "", "", "system.slice"},
		`/system.slice/system-getty\x2dtty.slice`:  {Systemd, "", "", "system-getty-tty.slice"},
		"/user.slice/user-0.slice/session-3.scope": {Systemd, "", "", "session-3.scope"},
		"/jitterscope-lab-123/coredns":             {None, "", "", ""},
		"/process_api/" + id[:32]:                  {None, "", "", ""},
	} {
		if got := Identify(path); got != want {
			t.Errorf("%s\n got %+v\nwant %+v", path, got, want)
		}
	}
}

// onSocket serves handler on a Unix socket, with HTTP/1 and HTTP/2.
func onSocket(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return path
}

func TestDocker(t *testing.T) {
	path := onSocket(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1.24/containers/json" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`[{"Id":"` + id + `","Names":["/web-1"],"Image":"nginx:1.27","Labels":{"app.kubernetes.io/part-of":"shop"}},
			{"Id":"` + otherID + `","Names":["/k8s_POD_web"],"Image":"pause:3.10","Labels":{"io.kubernetes.pod.uid":"` + uid + `",
			"io.kubernetes.docker.type":"podsandbox","io.kubernetes.container.name":"POD"}}]`))
	})
	found, err := DockerSocket{Path: path}.List(context.Background())
	want := []Container{
		{ID: id, Name: "web-1", Image: "nginx:1.27", Said: Said{PartOf: "shop"}}, {ID: otherID, PodUID: uid, Name: "POD", Image: "pause:3.10", Sandbox: true},
	}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := (DockerSocket{Path: path + "-none"}).List(context.Background()); !errors.Is(err, ErrAbsent) {
		t.Errorf("no socket: %v", err)
	}
}

// TestARestartedServiceIsReachedWhereTheContainerWasStarted mounts a socket at its path of which only the file is left.
func TestARestartedServiceIsReachedWhereTheContainerWasStarted(t *testing.T) {
	mounted := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: mounted})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	restarted := onSocket(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`[{"Id":"` + id + `"}]`)) })
	proc, root := t.TempDir(), t.TempDir()
	for _, directory := range []string{filepath.Join(proc, strconv.Itoa(os.Getppid())), filepath.Join(root, filepath.Dir(mounted))} {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(root, filepath.Join(proc, strconv.Itoa(os.Getppid()), "root")), os.Link(restarted, filepath.Join(root, mounted))); err != nil {
		t.Fatal(err)
	}
	if found, err := (DockerSocket{Path: mounted, Proc: proc}).List(t.Context()); err != nil || len(found) != 1 || found[0].ID != id {
		t.Errorf("%+v, %v", found, err)
	}
	if found, err := (DockerSocket{Path: mounted, Proc: t.TempDir()}).List(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("without its root: %+v, %v", found, err)
	}
}

func field(number protowire.Number, value ...byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func TestCRI(t *testing.T) {
	labelled := func(key, value string) []byte {
		return field(8, append(field(1, []byte(key)...), field(2, []byte(value)...)...)...)
	}
	var container []byte
	container = append(container, field(1, []byte(id)...)...)
	container = append(container, field(3, field(1, []byte("coredns")...)...)...)
	container = append(container, field(4, append(field(1, []byte("sha256:abc")...), field(18, []byte("coredns:1.12.0")...)...)...)...)
	container = protowire.AppendVarint(protowire.AppendTag(container, 6, protowire.VarintType), 1)
	container = append(container, labelled("io.kubernetes.pod.uid", uid)...)
	container = append(container, labelled("io.kubernetes.pod.name", "coredns-1")...)
	container = append(container, labelled("io.kubernetes.pod.namespace", "kube-system")...)
	pod := field(1, []byte(otherID)...)
	pod = append(pod, field(5, append(field(1, []byte("io.kubernetes.pod.uid")...), field(2, []byte(uid)...)...)...)...)
	pod = append(pod, field(6, append(field(1, []byte(ObjectiveAnnotation)...), field(2, []byte(" p99<50ms")...)...)...)...)
	pod = append(pod, field(5, append(field(1, []byte("app.kubernetes.io/version")...), field(2, []byte("1.12.0")...)...)...)...)
	pod = append(pod, field(6, append(field(1, []byte("password")...), field(2, []byte("secret")...)...)...)...)
	message, pods := field(1, container...), field(1, pod...)
	status := "0"
	path := onSocket(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || r.Header.Get("Content-Type") != "application/grpc" {
			t.Errorf("request %s %s %v", r.Proto, r.URL, r.Header)
		}
		message := map[string][]byte{
			"/runtime.v1.RuntimeService/ListContainers": message, "/runtime.v1.RuntimeService/ListPodSandbox": pods,
		}[r.URL.Path]
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...))
		w.Header().Set("Grpc-Status", status)
	})
	want := Container{ID: id, PodUID: uid, Namespace: "kube-system", Pod: "coredns-1", Name: "coredns", Image: "coredns:1.12.0", Said: Said{Objective: "p99<50ms", Version: "1.12.0"}}
	sandbox := Container{ID: otherID, PodUID: uid, Said: Said{Objective: "p99<50ms", Version: "1.12.0"}, Sandbox: true}
	found, err := CRISocket{Path: path}.List(context.Background())
	if err != nil || len(found) != 2 || found[0] != want || found[1] != sandbox {
		t.Errorf("%+v, %v", found, err)
	}
	resolver := NewResolver(CRISocket{Path: path})
	resolver.Ask(context.Background())
	for asked, want := range map[string]Kind{id: Workload, otherID: Sandbox, strings.Repeat("0", 64): UnknownKind} {
		if got := resolver.Kind(asked); got != want {
			t.Errorf("%.4s is %v, want %v", asked, got, want)
		}
	}
	status = "12"
	if _, err := (CRISocket{Path: path}).List(context.Background()); err == nil || !strings.Contains(err.Error(), "12") {
		t.Errorf("gRPC status 12 (unimplemented): %v", err)
	}
	for cut := range len(message) { // a truncated message is an error or fewer containers, never a crash
		_, _ = parseContainers(message[:cut])
	}
	for cut := range len(pods) {
		_, _ = parseSandboxes(pods[:cut])
	}
}

const podList = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{
 "metadata":{"name":"coredns-668d6bf9bc-x","namespace":"kube-system","uid":"` + uid + `","labels":{"pod-template-hash":"668d6bf9bc","app.kubernetes.io/version":"1.12.0","helm.sh/chart":"coredns-1.39.0","app.kubernetes.io/part-of":"dns","team":"secret"},
  "annotations":{"` + ObjectiveAnnotation + `":"p99<50ms","kubectl.kubernetes.io/restartedAt":"2026-11-25T09:30:00Z","password":"secret"},
  "ownerReferences":[{"kind":"ReplicaSet","name":"coredns-668d6bf9bc","controller":true}]},
 "spec":{"containers":[{"name":"coredns","image":"registry.k8s.io/coredns/coredns:v1.12.0","resources":{"limits":{"memory":"170Mi"},"requests":{"cpu":"100m","memory":"70Mi"}}}]},
 "status":{"qosClass":"Burstable","containerStatuses":[{"name":"coredns","containerID":"containerd://` + id + `","image":"sha256:1","restartCount":3,
  "lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled","startedAt":"2026-11-25T09:30:00Z","finishedAt":"2026-11-25T09:31:07Z","containerID":"containerd://` + otherID + `"}}}]}},
 {"metadata":{"name":"web-0","uid":"u2","ownerReferences":[{"kind":"StatefulSet","name":"web","controller":true}]},"spec":{},"status":{}}]}`

func TestKubelet(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/pods" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(podList))
	}))
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kubelet := Kubelet{URL: server.URL, TokenFile: token, Insecure: true}
	resolver := NewResolver(kubelet)
	path := "/kubepods/burstable/pod" + uid + "/" + id
	if facts, known := resolver.Facts(path); known || facts["workload.manager"] != "kubernetes" || facts["workload.container"] != id[:12] {
		t.Errorf("before asking: %v %v", facts, known)
	}
	if !resolver.Due(time.Now(), false) {
		t.Error("the first question is due at once")
	}
	resolver.Ask(context.Background())
	if resolver.Due(time.Now(), true) {
		t.Error("asked again at once")
	}
	facts, known := resolver.Facts(path)
	want := map[string]string{
		"workload.manager": "kubernetes", "workload.namespace": "kube-system", "workload.pod": "coredns-668d6bf9bc-x",
		"workload.container": "coredns", "workload.owner": "Deployment/coredns", "workload.image": "registry.k8s.io/coredns/coredns:v1.12.0",
		"workload.objective": "p99<50ms", "workload.version": "1.12.0", "workload.chart": "coredns-1.39.0", "workload.part_of": "dns", "workload.restarted_at": "2026-11-25T09:30:00Z",
		"workload.revision": "668d6bf9bc", "workload.requested_cpus": "0.1", "workload.requested_bytes": "73400320", "workload.qos_class": "Burstable",
	}
	if !known || len(facts) != len(want) {
		t.Errorf("container: %v %v", facts, known)
	}
	for name, value := range want {
		if facts[name] != value {
			t.Errorf("%s is %q, want %q", name, facts[name], value)
		}
	}
	if facts, known := resolver.Facts("/kubepods/burstable/pod" + uid); !known || facts["workload.pod"] != want["workload.pod"] || facts["workload.objective"] != "p99<50ms" || facts["workload.container"] != "" || facts["workload.qos_class"] != "Burstable" || facts["workload.requested_cpus"] != "" {
		t.Errorf("pod: %v %v", facts, known)
	}
	kubelet.Insecure = false
	if _, err := kubelet.List(context.Background()); err == nil {
		t.Error("an unknown certificate was trusted")
	}
	if _, err := parsePods(strings.NewReader(`{"items":[{"metadata":{"na`)); err == nil {
		t.Error("a cut list was taken as whole")
	}
	if pods, err := parsePods(strings.NewReader(`{"kind":"PodList","items":null}`)); err != nil || pods != nil {
		t.Errorf("no pods: %v %v", pods, err)
	}
	if owner := mustPods(t)[2].Owner; owner != "StatefulSet/web" {
		t.Errorf("owner %q", owner)
	}
}

// TestTheKubeletGetsTheRenewedToken rewrites the file between two requests.
func TestTheKubeletGetsTheRenewedToken(t *testing.T) {
	var got []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(podList))
	}))
	defer server.Close()
	kubelet := Kubelet{URL: server.URL, TokenFile: filepath.Join(t.TempDir(), "token"), Insecure: true}
	for _, token := range []string{"first", "second"} {
		if err := os.WriteFile(kubelet.TokenFile, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := kubelet.List(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(got, []string{"Bearer first", "Bearer second"}) {
		t.Errorf("%q", got)
	}
}

type listed []Container

func (l listed) Name() string { return "listed" }

func (l listed) List(context.Context) ([]Container, error) { return l, nil }

// TestANewStartIsNamedLikeTheLast: a container was restarted, and the runtime lists it before the kubelet does.
func TestANewStartIsNamedLikeTheLast(t *testing.T) {
	pod := Container{PodUID: "u1", Namespace: "kube-system", Pod: "coredns-1", Owner: "Deployment/coredns", Said: Said{Objective: "p99<50ms"}, Requests: Requests{QoS: "Burstable"}}
	before := pod
	before.ID, before.Name, before.Image = "old", "coredns", "coredns:1.12.0"
	before.Requests.CPUs, before.Requests.Bytes = "0.1", "0"
	again := Container{ID: "new", PodUID: "u1", Namespace: "kube-system", Pod: "coredns-1", Name: "coredns", Image: "sha256:1f2a"}
	other := Container{ID: "side", PodUID: "u1", Namespace: "kube-system", Pod: "coredns-1", Name: "sidecar", Image: "sha256:77"}
	resolver := NewResolver(listed{pod, before}, listed{again, other})
	resolver.Ask(context.Background())
	wanted := before
	wanted.ID = "new"
	if got := resolver.containers["new"]; got != wanted {
		t.Errorf("%+v, want %+v", got, wanted)
	}
	if got := resolver.containers["side"]; got.Owner != pod.Owner || got.Image != other.Image || got.Requests != (Requests{QoS: "Burstable"}) {
		t.Errorf("%+v", got)
	}
}

type failing struct {
	listed
	err error
}

func (f *failing) Name() string { return "failing" }

func (f *failing) List(context.Context) ([]Container, error) { return f.listed, f.err }

// TestFactsStayWhereADirectoryFails: the kubelet does not answer once. Nothing changed, so no fact may.
func TestFactsStayWhereADirectoryFails(t *testing.T) {
	container := Container{ID: "c", PodUID: "u1", Pod: "web-1", Owner: "Deployment/web", Name: "web", Image: "web:1", Said: Said{Restarted: "now"}}
	kubelet := &failing{listed: listed{container}}
	resolver := NewResolver(kubelet, listed{{ID: "c", PodUID: "u1", Pod: "web-1", Name: "web", Image: "sha256:c029"}})
	resolver.Ask(t.Context())
	kubelet.listed, kubelet.err = nil, errors.New("timed out")
	resolver.Ask(t.Context())
	if got := resolver.containers["c"]; got != container {
		t.Errorf("%+v, want %+v", got, container)
	}
	if using, problems := resolver.Status(); using != "listed" || problems != "failing: timed out" {
		t.Errorf("using %q, problems %q", using, problems)
	}
}

// TestAServiceThatIsGoneIsMissing: it has answered before, so that it is not there now is no fact about this node.
func TestAServiceThatIsGoneIsMissing(t *testing.T) {
	container := Container{ID: "c", PodUID: "u1", Pod: "web-1", Name: "web", Image: "web:1"}
	runtime := &failing{listed: listed{container}}
	resolver := NewResolver(runtime, DockerSocket{Path: "/none"})
	resolver.Ask(t.Context())
	if using, problems := resolver.Status(); using != "failing" || problems != "" {
		t.Errorf("using %q, problems %q", using, problems)
	}
	runtime.listed, runtime.err = nil, ErrAbsent
	resolver.Ask(t.Context())
	if got := resolver.containers["c"]; got != container {
		t.Errorf("%+v, want %+v", got, container)
	}
	if using, problems := resolver.Status(); using != "" || problems != "failing: not present" {
		t.Errorf("using %q, problems %q", using, problems)
	}
}

// TestAKubeletThatHasJustStarted lists no pods yet, and the runtime lists all containers.
func TestAKubeletThatHasJustStarted(t *testing.T) {
	pod := Container{PodUID: "u1", Pod: "web-1", Owner: "Deployment/web", Created: "2026-11-26T08:00:00Z", Requests: Requests{QoS: "Burstable"}}
	container := pod
	container.ID, container.Name, container.Image, container.Requests.CPUs = "c", "web", "web:1", "0.1"
	kubelet := &failing{listed: listed{pod, container}}
	runtime := &failing{listed: listed{{ID: "c", PodUID: "u1", Pod: "web-1", Name: "web", Image: "sha256:c029"}}}
	resolver := NewResolver(kubelet, runtime)
	resolver.Ask(t.Context())
	kubelet.listed = nil
	runtime.listed = append(runtime.listed, Container{ID: "new", PodUID: "u1", Pod: "web-1", Name: "side", Image: "sha256:77"})
	resolver.Ask(t.Context())
	if got := resolver.containers["c"]; got != container {
		t.Errorf("%+v, want %+v", got, container)
	}
	// It has no image until the kubelet tells its name.
	if got := resolver.containers["new"]; got.Name != "side" || got.Owner != pod.Owner || got.Image != "" {
		t.Errorf("%+v", got)
	}
	runtime.listed = nil
	resolver.Ask(t.Context())
	if len(resolver.containers) > 0 {
		t.Errorf("neither lists %+v", resolver.containers)
	}
}

// TestOnlyTheCollectorsUnitIsTheProducts: what a unit is called says nothing about whose program runs in it.
func TestOnlyTheCollectorsUnitIsTheProducts(t *testing.T) {
	for path, want := range map[string]string{
		"/system.slice/jitterscope-collector.service": product, "/system.slice/postgresql.service": "", "/system.slice/jitterscope.service": "",
	} {
		if facts, known := NewResolver().Facts(path); !known || facts["workload.part_of"] != want {
			t.Errorf("%s: %v %v", path, facts, known)
		}
	}
}

func TestWhatPodsSayIsBounded(t *testing.T) {
	for annotation, want := range map[string]string{
		"": "", " p99 < 50 ms ": "p99 < 50 ms", strings.Repeat("é", 60): strings.Repeat("é", 32), "p99<50\xffms": "p99<50ms",
	} {
		if got := saidBy(nil, map[string]string{ObjectiveAnnotation: annotation}).Objective; got != want {
			t.Errorf("%q is %q, want %q", annotation, got, want)
		}
	}
}

// TestEndsOfContainers: the kubelet reports how the previous start of a restarted container ended.
func TestEndsOfContainers(t *testing.T) {
	resolver, ends := NewResolver(listed(mustPods(t))), Ends{}
	resolver.Ask(context.Background())
	ends.Put(resolver.Ends())
	want := End{ID: otherID, Reason: "OOMKilled", ExitCode: 137, AtUS: time.Date(2026, 11, 25, 9, 31, 7, 0, time.UTC).UnixMicro(), Restarts: 3}
	if got, ok := ends.Of(otherID); !ok || got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, ok := ends.Of(id); ok {
		t.Errorf("it runs, and its end is %+v", got)
	}
}

func mustPods(t *testing.T) []Container {
	t.Helper()
	containers, err := parsePods(strings.NewReader(podList))
	if err != nil || len(containers) != 3 {
		t.Fatalf("%v, %v", containers, err)
	}
	return containers
}

// TestLocalKubeletThatIsNotThere is outside a cluster, then in a pod whose node's kubelet has ended. Nothing listens on 127.1.2.3.
func TestLocalKubeletThatIsNotThere(t *testing.T) {
	kubelet := LocalKubelet{Host: "127.1.2.3", ServiceAccount: t.TempDir(), Insecure: true}
	if _, err := kubelet.List(context.Background()); !errors.Is(err, ErrAbsent) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(kubelet.ServiceAccount, "token"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kubelet.List(context.Background()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v", err)
	}
}
