package kubeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func everywhere(string) bool { return true }

func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// As Kubernetes 1.34 returns them, with their defaults filled in.
const (
	twoRanges = `{"kind":"LimitRangeList","apiVersion":"v1","metadata":{"resourceVersion":"4711"},"items":[
{"metadata":{"name":"base","namespace":"shop","uid":"b0c2","resourceVersion":"901","creationTimestamp":"2026-11-20T08:00:00Z",
  "managedFields":[{"manager":"kubectl-create","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:limits":{}}}}]},
 "spec":{"limits":[
  {"type":"Container","max":{"cpu":"2","memory":"1Gi","ephemeral-storage":"4Gi"},"min":{"cpu":"50m"},"default":{"cpu":"2","memory":"1Gi"},
   "defaultRequest":{"cpu":"100m","memory":"1Gi"},"maxLimitRequestRatio":{"cpu":"10"}},
  {"type":"Pod","max":{"cpu":"4","memory":"4Gi"}},
  {"type":"PersistentVolumeClaim","max":{"storage":"10Gi"},"min":{"storage":"1Gi"}}]}},
{"metadata":{"name":"strict","namespace":"shop"},"spec":{"limits":[
  {"type":"Container","max":{"cpu":"1500m","memory":"2Gi"},"min":{"cpu":"100m","memory":"16Mi"},"default":{"cpu":"1500m","memory":"2Gi"},"defaultRequest":{"cpu":"1500m","memory":"2Gi"}}]}},
{"metadata":{"name":"disks","namespace":"data"},"spec":{"limits":[{"type":"PersistentVolumeClaim","max":{"storage":"1Ti"}}]}}]}`

	someQuotas = `{"kind":"ResourceQuotaList","apiVersion":"v1","metadata":{"resourceVersion":"4711"},"items":[
{"metadata":{"name":"compute","namespace":"shop"},"spec":{"hard":{"cpu":"6","limits.cpu":"10","limits.memory":"16Gi","pods":"50","requests.memory":"8Gi"}},
 "status":{"hard":{"cpu":"6","limits.cpu":"10","limits.memory":"16Gi","pods":"50","requests.memory":"8Gi"},
  "used":{"cpu":"3500m","limits.cpu":"9500m","limits.memory":"6Gi","pods":"12","requests.memory":"2Gi"}}},
{"metadata":{"name":"limited","namespace":"shop"},"spec":{"hard":{"limits.cpu":"20"},"scopes":["NotBestEffort"]},
 "status":{"hard":{"limits.cpu":"20"},"used":{"limits.cpu":"9500m"}}},
{"metadata":{"name":"chosen","namespace":"shop"},"spec":{"hard":{"limits.cpu":"30"},"scopeSelector":{"matchExpressions":[{"scopeName":"NotBestEffort","operator":"Exists"}]}},
 "status":{"hard":{"limits.cpu":"30"},"used":{"limits.cpu":"9500m"}}},
{"metadata":{"name":"batch","namespace":"shop"},"spec":{"hard":{"limits.cpu":"1"},"scopes":["Terminating"]},"status":{"hard":{"limits.cpu":"1"},"used":{"limits.cpu":"0"}}},
{"metadata":{"name":"services","namespace":"shop"},"spec":{"hard":{"limits.cpu":"1"},"scopes":["NotBestEffort","NotTerminating"]},"status":{"hard":{"limits.cpu":"1"},"used":{"limits.cpu":"0"}}},
{"metadata":{"name":"urgent","namespace":"shop"},"spec":{"hard":{"limits.cpu":"1"},"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}},
 "status":{"hard":{"limits.cpu":"1"},"used":{"limits.cpu":"0"}}},
{"metadata":{"name":"objects","namespace":"shop"},"spec":{"hard":{"configmaps":"10"}},"status":{"hard":{"configmaps":"10"},"used":{"configmaps":"2"}}},
{"metadata":{"name":"new","namespace":"data"},"spec":{"hard":{"limits.cpu":"1"}},"status":{}},
{"metadata":{"name":"other","namespace":"elsewhere"},"spec":{"hard":{"limits.cpu":"1"}},"status":{"hard":{"limits.cpu":"1"},"used":{"limits.cpu":"0"}}}]}`
)

func TestLimitRanges(t *testing.T) {
	server, mux := cluster(t)
	serve(mux, "/api/v1/limitranges", twoRanges)
	found, there, err := server.LimitRanges(t.Context(), everywhere)
	want := `{"data":{},"shop":{"container":{"max_bytes":1073741824,"max_cpu_ratio":10,"max_cpus":1.5,"min_bytes":16777216,"min_cpus":0.1},` +
		`"pod":{"max_bytes":4294967296,"max_cpus":4}}}`
	if got := inJSON(t, found); got != want || there != 3 || err != nil {
		t.Errorf("%s, %d there, %v", got, there, err)
	}
	found, there, err = server.LimitRanges(t.Context(), func(namespace string) bool { return namespace == "data" })
	if got := inJSON(t, found); got != `{"data":{}}` || there != 3 || err != nil {
		t.Errorf("%s, %d there, %v", got, there, err)
	}
}

func TestQuotas(t *testing.T) {
	server, mux := cluster(t)
	serve(mux, "/api/v1/resourcequotas", someQuotas)
	found, there, err := server.Quotas(t.Context(), func(namespace string) bool { return namespace != "elsewhere" })
	want := `{"shop":{"chosen":{"limits.cpu":{"hard":30,"used":9.5}},"compute":{"limits.cpu":{"hard":10,"used":9.5},` +
		`"limits.memory":{"hard":17179869184,"used":6442450944},"requests.cpu":{"hard":6,"used":3.5},"requests.memory":{"hard":8589934592,"used":2147483648}},` +
		`"limited":{"limits.cpu":{"hard":20,"used":9.5}}}}`
	if got := inJSON(t, found); got != want || there != 9 || err != nil {
		t.Errorf("%s, %d there, %v", got, there, err)
	}
}

// TestPagesOfACachedList has a server without a cache, which sends pages.
func TestPagesOfACachedList(t *testing.T) {
	server, mux := cluster(t)
	var asked []string
	mux.HandleFunc("GET /api/v1/limitranges", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		next, name := "page 2", "a"
		if len(asked) > 1 {
			next, name = "", "b"
		}
		_, _ = fmt.Fprintf(w, `{"metadata":{"continue":%q},"items":[{"metadata":{"namespace":%q},"spec":{"limits":[{"type":"Container","max":{"cpu":"1"}}]}}]}`, next, name)
	})
	found, _, err := server.LimitRanges(t.Context(), everywhere)
	if got := inJSON(t, found); err != nil || got != `{"a":{"container":{"max_cpus":1}},"b":{"container":{"max_cpus":1}}}` {
		t.Errorf("%s, %v", got, err)
	}
	// A server refuses a version beside the place to continue from.
	if got := strings.Join(asked, " "); got != "limit=200&resourceVersion=0 limit=200&continue=page+2" {
		t.Error(got)
	}
	mux.HandleFunc("GET /api/v1/resourcequotas", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"metadata":{"continue":"again"},"items":[]}`))
	})
	if _, _, err := server.Quotas(t.Context(), everywhere); err == nil {
		t.Error("a list without an end")
	}
	mux.HandleFunc("GET /of/api/v1/limitranges", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	server.URL += "/of"
	if _, _, err := server.LimitRanges(t.Context(), everywhere); !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
}
