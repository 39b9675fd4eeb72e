package kubeapi

import (
	"errors"
	"net/http"
	"testing"
)

// As Kubernetes 1.34 and VPA 1.4 return them.
const (
	horizontals = `{"kind":"HorizontalPodAutoscalerList","apiVersion":"autoscaling/v2","metadata":{"resourceVersion":"4711"},"items":[
{"metadata":{"name":"web","namespace":"shop","uid":"b0c2","managedFields":[{"manager":"kubectl","fieldsV1":{"f:spec":{"f:maxReplicas":{}}}}]},
 "spec":{"scaleTargetRef":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"},"minReplicas":2,"maxReplicas":6,"metrics":[
  {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}},
  {"type":"ContainerResource","containerResource":{"name":"memory","container":"app","target":{"type":"AverageValue","averageValue":"200Mi"}}},
  {"type":"Pods","pods":{"metric":{"name":"packets"},"target":{"type":"AverageValue","averageValue":"1k"}}},
  {"type":"Object","object":{"metric":{"name":"requests"},"describedObject":{"kind":"Ingress","name":"main"},"target":{"type":"Value","value":"10k"}}},
  {"type":"External","external":{"metric":{"name":"queue","selector":{"matchLabels":{"a":"b"}}},"target":{"type":"AverageValue","averageValue":"30"}}}]},
 "status":{"currentReplicas":3,"desiredReplicas":3,"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":41,"averageValue":"41m"}}}]}},
{"metadata":{"name":"api","namespace":"shop"},"spec":{"scaleTargetRef":{"kind":"Rollout","name":"api","apiVersion":"argoproj.io/v1alpha1"},"maxReplicas":4}},
{"metadata":{"name":"again","namespace":"shop"},"spec":{"scaleTargetRef":{"kind":"Rollout","name":"api"},"minReplicas":0,"maxReplicas":9}},
{"metadata":{"name":"api","namespace":"elsewhere"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"api"},"maxReplicas":4}}]}`

	verticals = `{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscalerList","metadata":{},"items":[
{"metadata":{"name":"web","namespace":"shop"},"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"updatePolicy":{"updateMode":"Recreate"},
 "resourcePolicy":{"containerPolicies":[
  {"containerName":"*","minAllowed":{"cpu":"50m"}},{"containerName":"proxy","mode":"Off"},
  {"containerName":"app","minAllowed":{"cpu":"100m"},"maxAllowed":{"cpu":"2","memory":"1Gi"},"controlledValues":"RequestsOnly"}]}},
 "status":{"recommendation":{"containerRecommendations":[
  {"containerName":"app","lowerBound":{"cpu":"25m"},"target":{"cpu":"587m","memory":"262144k"},"upperBound":{"cpu":"2"}}]}}},
{"metadata":{"name":"data","namespace":"shop"},"spec":{"targetRef":{"kind":"StatefulSet","name":"data"}}}]}`
)

func inShop(namespace string) bool { return namespace == "shop" }

func TestHorizontalAutoscalers(t *testing.T) {
	server, mux := cluster(t)
	serve(mux, "/apis/autoscaling/v2/horizontalpodautoscalers", horizontals)
	found, there, err := server.HorizontalAutoscalers(t.Context(), inShop)
	if len(found) != 2 || there != 4 || err != nil {
		t.Errorf("%v, %d, %v", found, there, err)
	}
	for owner, want := range map[string]string{
		"Deployment/web": `{"name":"web","min":2,"max":6,"targets":{"app memory":"200Mi","cpu":"80%","packets":"1k","queue":"30","requests":"10k"}}`,
		"Rollout/api":    `{"name":"again","min":0,"max":9}`,
	} {
		if got := inJSON(t, found[Scaled{"shop", owner}]); got != want {
			t.Errorf("%s: %s, want %s", owner, got, want)
		}
	}
}

func TestVerticalAutoscalers(t *testing.T) {
	server, mux := cluster(t)
	status := http.StatusForbidden
	mux.HandleFunc("GET /apis/autoscaling.k8s.io/v1/verticalpodautoscalers", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(verticals))
	})
	if _, _, err := server.VerticalAutoscalers(t.Context(), inShop); !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
	status = http.StatusNotFound
	if found, there, err := server.VerticalAutoscalers(t.Context(), inShop); len(found) != 0 || there != 0 || err != nil {
		t.Errorf("a cluster that has none: %v, %d, %v", found, there, err)
	}
	status = http.StatusOK
	found, there, err := server.VerticalAutoscalers(t.Context(), inShop)
	if len(found) != 2 || there != 2 || err != nil {
		t.Errorf("%v, %d, %v", found, there, err)
	}
	of := found[Scaled{"shop", "Deployment/web"}]
	for container, want := range map[string]string{
		"app":   `{"name":"web","mode":"Recreate","allowed":{"max_bytes":1073741824,"max_cpus":2,"min_cpus":0.1},"recommended":{"bytes":262144000,"cpus":0.587}}`,
		"proxy": `{"name":"web","mode":"Off"}`,
		"third": `{"name":"web","mode":"Recreate","allowed":{"min_cpus":0.05}}`,
	} {
		if got := inJSON(t, of.Of(container)); got != want {
			t.Errorf("%s: %s, want %s", container, got, want)
		}
	}
	if got := inJSON(t, found[Scaled{"shop", "StatefulSet/data"}].Of("db")); got != `{"name":"data","mode":"Recreate"}` {
		t.Error(got)
	}
}
