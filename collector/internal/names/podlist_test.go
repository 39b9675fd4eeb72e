package names

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// node are the pods of a node with one of each kind, in the shape of a kubelet 1.33.
func node(t *testing.T) *Resolver {
	t.Helper()
	file, err := os.Open("testdata/pods-1.33.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	containers, err := parsePods(file)
	if err != nil {
		t.Fatal(err)
	}
	resolver := NewResolver(listed(containers))
	resolver.Ask(t.Context())
	return resolver
}

// TestEachKindOfContainer looks containers up by the paths of their cgroups.
func TestEachKindOfContainer(t *testing.T) {
	resolver := node(t)
	of := func(last string) string { return "d5c8b7a6-0000-4000-8000-00000000000" + last }
	for _, one := range []struct {
		is, uid, id             string
		container, owner, image string
		cpus, bytes, qos        string
	}{
		{"static pod", "c9b7ee0e1b7d5f7a4a2f3c6de0a1b2c3", "01", "etcd", "", "registry.k8s.io/etcd:3.5.21-0", "0.1", "104857600", "Burstable"},
		{"copy of a static pod", "0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d", "02", "kube-apiserver", "", "registry.k8s.io/kube-apiserver:v1.33.5", "0.25", "0", "Burstable"},
		{"init container", of("3"), "03", "mount-bpf-fs", "DaemonSet/cilium", "quay.io/cilium/cilium:v1.17.4", "0.01", "0", "Burstable"},
		{"container of a DaemonSet", of("3"), "04", "cilium-agent", "DaemonSet/cilium", "quay.io/cilium/cilium:v1.17.4", "0", "0", "Burstable"},
		{"sidecar", of("4"), "05", "proxy", "Deployment/cart", "envoyproxy/envoy:v1.34.1", "0.02", "33554432", "Burstable"},
		{"container that is being resized", of("4"), "06", "cart", "Deployment/cart", "registry:5000/shop/cart:7", "0.25", "1073741824", "Burstable"},
		{"ephemeral container", of("4"), "07", "debugger-4qj7z", "Deployment/cart", "busybox:1.37", "0", "0", "Burstable"},
		{"container of a Job", of("5"), "08", "migrate", "Job/migrate", "registry:5000/shop/cart:7", "1", "1073741824", "Guaranteed"},
		{"pod of a CronJob whose container is being created", of("6"), "", "", "CronJob/report", "", "", "", "BestEffort"},
	} {
		path := "/kubepods/burstable/pod" + one.uid
		if one.id != "" {
			path += "/" + strings.Repeat(one.id, 32)
		}
		facts, known := resolver.Facts(path)
		if !known {
			t.Errorf("%s is not known", one.is)
		}
		for name, want := range map[string]string{
			"workload.container": one.container, "workload.owner": one.owner, "workload.image": one.image,
			"workload.created_at": "2026-11-26T08:00:00Z", "workload.requested_cpus": one.cpus, "workload.requested_bytes": one.bytes, "workload.qos_class": one.qos,
		} {
			if facts[name] != want {
				t.Errorf("%s: %s is %q, want %q", one.is, name, facts[name], want)
			}
		}
	}
}

// TestWhatServicesSelectBy: also for a container that only the runtime lists so far.
func TestWhatServicesSelectBy(t *testing.T) {
	const kubelet = `{"items":[{"metadata":{"name":"cart-1","uid":"u","labels":{"app":"cart"}},"spec":{"containers":[
		{"name":"cart","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"},{"containerPort":9}]},
		{"name":"proxy","ports":[{"name":"http","containerPort":8081},{"name":"dns","containerPort":53,"protocol":"UDP"}]}]},
		"status":{"containerStatuses":[{"name":"cart","containerID":"containerd://c"}]}}]}`
	listedByKubelet, err := parsePods(strings.NewReader(kubelet))
	if err != nil {
		t.Fatal(err)
	}
	resolver := NewResolver(listed(listedByKubelet), listed{{ID: "new", PodUID: "u", Name: "proxy"}, {ID: "d", Name: "docker"}})
	resolver.Ask(t.Context())
	want := &Selectable{map[string]string{"app": "cart"}, map[Port]uint16{{"TCP", "http"}: 8080, {"UDP", "dns"}: 53}}
	for id, want := range map[string]*Selectable{"c": want, "new": want, "d": nil, "gone": nil} {
		if got := resolver.Selectable(id); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

func TestEvictedPods(t *testing.T) {
	evicted := node(t).Evicted()
	want := Eviction{
		Reason: "TerminationByKubelet", AtUS: time.Date(2026, 11, 26, 8, 31, 7, 0, time.UTC).UnixMicro(),
		Message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 61204Ki. Container batch was using 3012Mi, request is 0, has larger consumption of memory.",
	}
	if len(evicted) != 1 || evicted[0].Pod != "batch-7c6d5b4f9-hq2vn" || evicted[0].Evicted != want {
		t.Errorf("%+v", evicted)
	}
}

func TestWhyAPodIsEvicted(t *testing.T) {
	const pod = `{"items":[{"metadata":{"name":"a","uid":"u"},"spec":{},"status":`
	for status, want := range map[string]Eviction{
		`{"phase":"Failed","reason":"Evicted","message":"Pod was low"}`:                                  {Reason: "Evicted", Message: "Pod was low"}, // before 1.26
		`{"phase":"Failed","reason":"NodeAffinity","message":"x"}`:                                       {},
		`{"conditions":[{"type":"DisruptionTarget","status":"False","reason":"EvictionByEvictionAPI"}]}`: {},
		`{"conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI","message":"é` + strings.Repeat("é", 300) + `"}]}`: {
			Reason: "EvictionByEvictionAPI", Message: strings.Repeat("é", 200) + "…",
		},
	} {
		found, err := parsePods(strings.NewReader(pod + status + "}]}"))
		if err != nil || len(found) != 1 || found[0].PodUID != "u" || found[0].Pod != "a" || found[0].Evicted != want {
			t.Errorf("%s: %+v, %v", status, found, err)
		}
	}
}
