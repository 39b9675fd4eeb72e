package pods

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

const (
	horizontalPath, verticalPath = "/apis/autoscaling/v2/horizontalpodautoscalers", "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"

	horizontalOf = `{"metadata":{},"items":[{"metadata":{"name":"cart","namespace":"shop"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":%q},"minReplicas":2,"maxReplicas":6}}]}`
	verticalOf   = `{"metadata":{},"items":[{"metadata":{"name":"cart","namespace":"shop"},"spec":{"targetRef":{"kind":"Deployment","name":%q},
 "resourcePolicy":{"containerPolicies":[{"containerName":"cart","mode":"Off"}]}}}]}`
)

func TestAutoscalers(t *testing.T) {
	answers := map[string]string{horizontalPath: fmt.Sprintf(horizontalOf, "cart"), verticalPath: fmt.Sprintf(verticalOf, "cart")}
	a := &autoscalers{lists: lists{looks: time.Hour}}
	r, path := withCart(t, a, answers)
	r.Eventually("the container's namespace", func() bool { return a.namespaces.here()["shop"] })
	tell := func(want map[string]string, state string) {
		t.Helper()
		a.ask(t.Context(), a.namespaces.here(), time.Now())
		for name, value := range want {
			if got := r.Fact(path, name); got != value {
				t.Errorf("%s is %s, want %s", name, got, value)
			}
			if got := r.Fact(path[:strings.LastIndex(path, "/")], name); got != "" {
				t.Errorf("the pod's cgroup has %s %s", name, got)
			}
		}
		if got := r.Status("autoscalers"); !strings.HasPrefix(got, state) {
			t.Error(got)
		}
	}
	both := map[string]string{
		catalogue.FactWorkloadAutoscaler:         `{"name":"cart","min":2,"max":6}`,
		catalogue.FactWorkloadVerticalAutoscaler: `{"name":"cart","mode":"Off"}`,
	}
	tell(both, "ACTIVE")
	// What is no longer allowed to be read stays as it was.
	delete(answers, verticalPath)
	answers[horizontalPath] = fmt.Sprintf(horizontalOf, "other")
	both[catalogue.FactWorkloadAutoscaler] = "{}"
	tell(both, "DEGRADED:")
	off := sourcetest.Start(t, sourcetest.Setup{Options: `api_server = "off"`, Sources: []sampler.Source{&autoscalers{lists: lists{looks: time.Hour}}}})
	if got := off.Status("autoscalers"); got != "OFF: api_server is off in [sources.autoscalers]" {
		t.Error(got)
	}
}
