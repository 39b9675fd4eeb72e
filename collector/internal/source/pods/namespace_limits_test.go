package pods

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/kubeapi"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

const (
	rangesPath, quotasPath = "/api/v1/limitranges", "/api/v1/resourcequotas"

	limitRanges = `{"kind":"LimitRangeList","apiVersion":"v1","metadata":{"resourceVersion":"812"},"items":[
 {"metadata":{"name":"sizes","namespace":"shop","uid":"6f0e"},"spec":{"limits":[
  {"type":"Container","max":{"cpu":"1"},"default":{"cpu":"1"},"defaultRequest":{"cpu":"1"},"maxLimitRequestRatio":{"cpu":"4"}},{"type":"Pod","max":{"memory":"2Gi"}}]}},
 {"metadata":{"name":"sizes","namespace":"elsewhere"},"spec":{"limits":[{"type":"Container","max":{"cpu":"9"}}]}}]}`
	resourceQuotas = `{"kind":"ResourceQuotaList","apiVersion":"v1","metadata":{"resourceVersion":"812"},"items":[
 {"metadata":{"name":"team","namespace":"shop"},"spec":{"hard":{"limits.cpu":"4","pods":"10"}},
  "status":{"hard":{"limits.cpu":"4","pods":"10"},"used":{"limits.cpu":"%s","pods":"3"}}}]}`
)

// withCart starts a source beside one that knows a container of the Deployment cart in the namespace shop, and returns the
// container's path.
func withCart(t *testing.T, of sampler.Source, answers map[string]string) (r *sourcetest.Run, path string) {
	t.Helper()
	const pod = "9118fc9a-5622-43c2-a6a9-ea0a582ea247"
	id := strings.Repeat("0123456789abcdef", 4)
	path = "/kubepods/burstable/pod" + pod + "/" + id
	cgroups := sourcetest.Tree(t, map[string]string{"cgroup.controllers": "cpu\n"})
	sourcetest.Write(t, cgroups, path[1:]+"/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n")
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"items":[{"metadata":{"name":"cart-1","namespace":"shop","uid":%q,"labels":{"pod-template-hash":"1"},
			"ownerReferences":[{"kind":"ReplicaSet","name":"cart-1","controller":true}]},"spec":{},
			"status":{"containerStatuses":[{"name":"cart","containerID":"containerd://%s"}]}}]}`, pod, id)
	}))
	t.Cleanup(kubelet.Close)
	return sourcetest.Start(t, sourcetest.Setup{
		Cgroup: cgroups, Sources: []sampler.Source{&workloadNames{}, of},
		Options: sourcetest.APIServer(t, answers) + fmt.Sprintf("kubelet = %q\ndocker_socket = \"/none\"\ncri_sockets = []\n", kubelet.URL),
	}), path
}

// limited starts the source with a container in the namespace shop.
func limited(t *testing.T, answers map[string]string) (r *sourcetest.Run, n *namespaceLimits, path string) {
	t.Helper()
	n = &namespaceLimits{lists: lists{looks: time.Hour}}
	r, path = withCart(t, n, answers)
	r.Eventually("the container's namespace", func() bool { return n.namespaces.here()["shop"] })
	return r, n, path
}

func (n *namespaceLimits) once(t *testing.T, now time.Time) (items int) {
	t.Helper()
	items = n.ask(t.Context(), n.namespaces.here(), now)
	n.tell()
	return items
}

func TestNamespaceLimits(t *testing.T) {
	answers := map[string]string{rangesPath: limitRanges, quotasPath: fmt.Sprintf(resourceQuotas, "1500m")}
	r, n, path := limited(t, answers)
	if items := n.once(t, time.Now()); items != 3 {
		t.Errorf("%d items", items)
	}
	for name, want := range map[string]string{
		catalogue.FactWorkloadLimitRange: `{"container":{"max_cpu_ratio":4,"max_cpus":1},"pod":{"max_bytes":2147483648}}`,
		catalogue.FactWorkloadQuota:      `{"team":{"limits.cpu":{"hard":4,"used":1.5}}}`,
	} {
		if got := r.Fact(path, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
		if got := r.Fact(path[:strings.LastIndex(path, "/")], name); got != "" {
			t.Errorf("the pod's cgroup has %s %s", name, got)
		}
	}
	if got := r.Status("namespace_limits"); !strings.HasPrefix(got, "ACTIVE") {
		t.Error(got)
	}
	// Both are deleted: that none restricts is known.
	answers[rangesPath], answers[quotasPath] = `{"metadata":{},"items":[]}`, `{"metadata":{},"items":null}`
	n.once(t, time.Now())
	for _, name := range []string{catalogue.FactWorkloadLimitRange, catalogue.FactWorkloadQuota} {
		if got := r.Fact(path, name); got != "{}" {
			t.Errorf("%s is %s", name, got)
		}
	}
}

func TestNamespaceLimitsThatAreForbidden(t *testing.T) {
	r, n, path := limited(t, map[string]string{quotasPath: fmt.Sprintf(resourceQuotas, "1500m")})
	n.once(t, time.Now())
	if got := r.Status("namespace_limits"); !strings.HasPrefix(got, "DEGRADED:") || !strings.Contains(got, rangesPath) || !strings.Contains(got, "forbidden") {
		t.Error(got)
	}
	if got := r.Fact(path, catalogue.FactWorkloadLimitRange); got != "" {
		t.Errorf("a LimitRange that was not read: %s", got)
	}
	if got := r.Fact(path, catalogue.FactWorkloadQuota); got == "" {
		t.Error("no quota, which may be read")
	}
	off := sourcetest.Start(t, sourcetest.Setup{Options: `api_server = "off"`, Sources: []sampler.Source{&namespaceLimits{lists: lists{looks: time.Hour}}}})
	if got := off.Status("namespace_limits"); got != "OFF: api_server is off in [sources.namespace_limits]" {
		t.Error(got)
	}
}

func TestListsPace(t *testing.T) {
	at := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	shop, both := map[string]bool{"shop": true}, map[string]bool{"shop": true, "data": true}
	var pace listsPace
	if pace.isDue(map[string]bool{}, at) || !pace.isDue(shop, at) {
		t.Error("first")
	}
	pace.asked(shop, 240, at) // 6 to 7.5 min
	for after, want := range map[time.Duration][2]bool{
		time.Minute: {false, false}, 2 * time.Minute: {false, true}, 5 * time.Minute: {false, true}, 8 * time.Minute: {true, true},
	} {
		if got := [2]bool{pace.isDue(shop, at.Add(after)), pace.isDue(both, at.Add(after))}; got != want {
			t.Errorf("after %s: %v", after, got)
		}
	}
}

// TestQuotaHistory has pods that come and go.
func TestQuotaHistory(t *testing.T) {
	quotas := func(hard, used float64) kubeapi.Quotas {
		return kubeapi.Quotas{"team": {"limits.cpu": {Hard: hard, Used: used}}}
	}
	at := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	h := &quotaHistory{}
	for _, step := range []struct {
		after      time.Duration
		read, want kubeapi.Quotas
	}{
		{0, quotas(10, 2), quotas(10, 2)},
		{time.Minute, quotas(10, 3.9), quotas(10, 2)}, // 8 are left, then 6.1
		{time.Minute, quotas(10, 4.1), quotas(10, 4.1)},
		{time.Minute, quotas(10, 2), quotas(10, 4.1)}, // more is left, perhaps not for long
		{50 * time.Minute, quotas(10, 4.2), quotas(10, 4.1)},
		{50 * time.Minute, quotas(10, 2), quotas(10, 4.1)},
		{20 * time.Minute, quotas(10, 2), quotas(10, 2)},
		{time.Minute, quotas(20, 2), quotas(20, 2)}, // somebody changed it
		{time.Minute, quotas(20, 19.9), quotas(20, 19.9)},
		{time.Minute, quotas(20, 20), quotas(20, 19.9)}, // less than a hundredth of it
		{time.Minute, kubeapi.Quotas{}, kubeapi.Quotas{}},
		{time.Minute, quotas(20, 2), quotas(20, 2)},
	} {
		at = at.Add(step.after)
		got, _ := json.Marshal(h.next(step.read, at))
		if want, _ := json.Marshal(step.want); string(got) != string(want) {
			t.Errorf("%s: recorded %s, want %s", at.Format(time.TimeOnly), got, want)
		}
	}
}
