package kubeapi

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cluster is an API server over TLS that accepts one token. 450 nodes come in pages; every tenth is unschedulable.
func cluster(t *testing.T) (Server, *http.ServeMux) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"major":"1","minor":"30","gitVersion":"v1.30.5-gke.1014001"}`))
	})
	mux.HandleFunc("GET /api/v1/nodes", func(w http.ResponseWriter, r *http.Request) {
		var first int
		_, _ = fmt.Sscanf(r.URL.Query().Get("continue"), "from %d", &first)
		var items []string
		for i := first; i < min(first+200, 450); i++ {
			items = append(items, fmt.Sprintf(`{"metadata":{"name":"n%d"},"spec":{"unschedulable":%v},"status":{"capacity":{"cpu":"16"},"allocatable":{"cpu":"15890m"}}}`, i, i%10 == 0))
		}
		next := ""
		if first+200 < 450 {
			next = fmt.Sprintf("from %d", first+200)
		}
		_, _ = fmt.Fprintf(w, `{"kind":"NodeList","metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
	})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the token" {
			http.Error(w, `{"kind":"Status"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	directory := t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, text := range map[string][]byte{"token": []byte("the token\n"), "ca.crt": certificate} {
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Server{URL: server.URL, TokenFile: filepath.Join(directory, "token"), CAFile: filepath.Join(directory, "ca.crt")}, mux
}

func serve(mux *http.ServeMux, path, text string) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
}

func TestCluster(t *testing.T) {
	server, mux := cluster(t)
	// As on a GKE cluster.
	serve(mux, "/api/v1/namespaces/kube-system/configmaps/kube-dns-autoscaler",
		`{"kind":"ConfigMap","data":{"linear":"{\"coresPerReplica\":256, \"nodesPerReplica\":16,\"preventSinglePointFailure\":true}","ladder":"nonsense"}}`)
	serve(mux, "/apis/apps/v1/namespaces/kube-system/deployments/kube-dns", `{"kind":"Deployment","spec":{"replicas":12},"status":{"replicas":11}}`)
	serve(mux, "/apis/apps/v1/namespaces/kube-system/deployments/one", `{"spec":{}}`)
	ctx := context.Background()
	if version, err := server.Version(ctx); version != "v1.30.5-gke.1014001" || err != nil {
		t.Errorf("version %q, %v", version, err)
	}
	nodes, milliCPU, err := server.Nodes(ctx)
	if nodes != 405 || milliCPU != 405*15890 || err != nil {
		t.Errorf("%d nodes, %d m, %v", nodes, milliCPU, err)
	}
	data, err := server.ConfigMap(ctx, "kube-dns-autoscaler")
	if got := Parsed(data, "linear", "ladder"); err != nil || got != `{"linear":{"coresPerReplica":256,"nodesPerReplica":16,"preventSinglePointFailure":true}}` {
		t.Errorf("%s, %v", got, err)
	}
	if data, err := server.ConfigMap(ctx, "kube-dns"); data != nil || err != nil || Parsed(data, "stubDomains") != "" {
		t.Errorf("one that does not exist: %v, %v", data, err)
	}
	if replicas, ok, err := server.Replicas(ctx, "kube-dns"); replicas != 12 || !ok || err != nil {
		t.Errorf("%d replicas, %v, %v", replicas, ok, err)
	}
	if replicas, ok, err := server.Replicas(ctx, "one"); replicas != 1 || !ok || err != nil {
		t.Errorf("without a number: %d replicas, %v, %v", replicas, ok, err)
	}
	if _, ok, err := server.Replicas(ctx, "coredns"); ok || err != nil {
		t.Errorf("one that does not exist: %v, %v", ok, err)
	}
}

func TestRefusals(t *testing.T) {
	server, mux := cluster(t)
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/secret", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	})
	serve(mux, "/api/v1/namespaces/kube-system/configmaps/cut", `{"data":{"a":`)
	ctx := context.Background()
	if _, err := server.ConfigMap(ctx, "secret"); !errors.Is(err, ErrForbidden) {
		t.Errorf("forbidden: %v", err)
	}
	for _, name := range []string{"moved", "cut"} {
		if data, err := server.ConfigMap(ctx, name); err == nil {
			t.Errorf("%s: %v", name, data)
		}
	}
	stranger := server
	stranger.TokenFile = filepath.Join(t.TempDir(), "token")
	if _, err := stranger.Version(ctx); err == nil {
		t.Error("without a token")
	}
	if err := os.WriteFile(stranger.TokenFile, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Version(ctx); !errors.Is(err, ErrForbidden) {
		t.Errorf("another token: %v", err)
	}
	impostor, _ := cluster(t)
	impostor.CAFile = filepath.Join(t.TempDir(), "ca.crt")
	if _, err := impostor.Version(ctx); err == nil {
		t.Error("without a certificate authority")
	}
}

// TestTheRenewedTokenIsUsed replaces the token as a kubelet does: the file is a link into a folder that is exchanged.
func TestTheRenewedTokenIsUsed(t *testing.T) {
	server, _ := cluster(t)
	folder := t.TempDir()
	server.TokenFile = filepath.Join(folder, "token")
	if err := os.Symlink("..data/token", server.TokenFile); err != nil {
		t.Fatal(err)
	}
	project := func(version, token string) {
		t.Helper()
		link := filepath.Join(folder, "..data_tmp")
		if err := errors.Join(
			os.Mkdir(filepath.Join(folder, version), 0o700), os.WriteFile(filepath.Join(folder, version, "token"), []byte(token), 0o600),
			os.Symlink(version, link), os.Rename(link, filepath.Join(folder, "..data")),
		); err != nil {
			t.Fatal(err)
		}
	}
	project("..1", "an expired token")
	if _, err := server.Version(t.Context()); !errors.Is(err, ErrForbidden) {
		t.Errorf("expired: %v", err)
	}
	project("..2", "the token")
	if version, err := server.Version(t.Context()); version == "" || err != nil {
		t.Errorf("renewed: %q, %v", version, err)
	}
}

func TestNodeState(t *testing.T) {
	server, mux := cluster(t)
	ctx := t.Context()
	asked := ""
	answers := map[string]string{
		"a": `{"items":[{"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"},{"key":"bare","effect":"NoExecute"}]},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}]}`,
		"b": `{"items":[{"spec":{},"status":{}}]}`,
		"c": `{"metadata":{},"items":[]}`,
	}
	list := server
	list.URL += "/of"
	mux.HandleFunc("GET /of/api/v1/nodes", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("resourceVersion")
		_, name, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "metadata.name=")
		_, _ = w.Write([]byte(answers[name]))
	})
	if got, err := list.NodeState(ctx, "a"); err != nil || got.Conditions["Ready"] != "Unknown" || !slices.Equal(got.Taints, []string{"k=v:NoSchedule", "bare:NoExecute"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if asked != "0" {
		t.Errorf("version %q: the server asks etcd", asked)
	}
	if got, err := list.NodeState(ctx, "b"); err != nil || got.Taints == nil || len(got.Taints) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := list.NodeState(ctx, "c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestInCluster(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("KUBERNETES_SERVICE_HOST", "2001:db8::1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, ok := InCluster(directory); ok {
		t.Error("without a token")
	}
	if err := os.WriteFile(filepath.Join(directory, "token"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if server, ok := InCluster(directory); !ok || server.URL != "https://[2001:db8::1]:443" {
		t.Errorf("%+v", server)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, ok := InCluster(directory); ok {
		t.Error("outside of a cluster")
	}
}

func TestMilli(t *testing.T) {
	for quantity, want := range map[string]int64{"4": 4000, "3920m": 3920, "0.5": 500, "": 0, "x": 0} {
		if got := milli(quantity); got != want {
			t.Errorf("%q: %d", quantity, got)
		}
	}
}

func FuzzLists(f *testing.F) {
	f.Add(`{"metadata":{"continue":"x"},"items":[{"status":{"allocatable":{"cpu":"1"}}}]}`)
	f.Add(`{"items":null,"x":[1,{}]}`)
	f.Fuzz(func(_ *testing.T, text string) {
		var next string
		_ = eachItem(strings.NewReader(text), &next, func(*node) {})
		_ = eachItem(strings.NewReader(text), &next, func(one *limitRange) { one.bounds(Bounds{}, Bounds{}) })
		_ = eachItem(strings.NewReader(text), &next, func(one *resourceQuota) { one.shares() })
		_ = eachItem(strings.NewReader(text), &next, func(one *horizontal) { one.settings() })
		_ = eachItem(strings.NewReader(text), &next, func(one *Vertical) { one.Of("a") })
		Parsed(map[string]string{"a": text}, "a", "b")
	})
}
