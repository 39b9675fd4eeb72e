package sourcetest

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// APIServer starts a Kubernetes API server over TLS that has answers for some paths and forbids the others, and returns
// the options of the source kube that access it.
func APIServer(t testing.TB, answers map[string]string) (options string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok || r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	files := Tree(t, map[string]string{
		"token": "t", "ca.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	})
	return fmt.Sprintf("api_server = %q\ntoken_file = \"%[2]s/token\"\nca_file = \"%[2]s/ca.crt\"\n", server.URL, files)
}

// Cluster is what such a server might know: two nodes of 15.89 CPUs and an autoscaler for two replicas of the cluster's
// DNS.
var Cluster = map[string]string{
	"/version":      `{"gitVersion":"v1.30.5-gke.1014001"}`,
	"/api/v1/nodes": `{"metadata":{},"items":[{"status":{"allocatable":{"cpu":"15890m"}}},{"status":{"allocatable":{"cpu":"15890m"}}}]}`,
	"/api/v1/namespaces/kube-system/configmaps/kube-dns-autoscaler": `{"data":{"linear":"{\"coresPerReplica\":256,\"nodesPerReplica\":16}"}}`,
	"/apis/apps/v1/namespaces/kube-system/deployments/kube-dns":     `{"spec":{"replicas":2}}`,
}
