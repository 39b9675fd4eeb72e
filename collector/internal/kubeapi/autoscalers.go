package kubeapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/quantity"
)

// Scaled is a workload that an autoscaler names: its namespace and KIND/NAME.
type Scaled struct{ Namespace, Owner string }

// Horizontal holds the settings of a HorizontalPodAutoscaler. Targets are by the metric's name, as written: "80%" or
// "600m".
type Horizontal struct {
	Name    string            `json:"name"`
	Min     int               `json:"min"`
	Max     int               `json:"max"`
	Targets map[string]string `json:"targets,omitempty"`
}

// scaleTarget holds the used fields of a CrossVersionObjectReference.
type scaleTarget struct{ Kind, Name string }

func (t scaleTarget) in(namespace string) Scaled { return Scaled{namespace, t.Kind + "/" + t.Name} }

// metricTarget holds the used fields of one kind of v2.MetricSpec: those of pods have a name, the others a metric.
type metricTarget struct {
	Container, Name string
	Metric          struct{ Name string }
	Target          struct {
		AverageUtilization  *int
		AverageValue, Value string
	}
}

func (m *metricTarget) text() string {
	if share := m.Target.AverageUtilization; share != nil {
		return fmt.Sprintf("%d%%", *share)
	}
	return cmp.Or(m.Target.AverageValue, m.Target.Value)
}

// horizontal holds the used fields of a v2.HorizontalPodAutoscaler.
type horizontal struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		ScaleTargetRef scaleTarget
		MinReplicas    *int
		MaxReplicas    int
		Metrics        []struct{ Resource, ContainerResource, Pods, Object, External *metricTarget }
	}
}

func (h *horizontal) settings() Horizontal {
	found := Horizontal{Name: h.Metadata.Name, Min: 1, Max: h.Spec.MaxReplicas, Targets: map[string]string{}}
	if h.Spec.MinReplicas != nil {
		found.Min = *h.Spec.MinReplicas
	}
	for _, metric := range h.Spec.Metrics {
		for _, of := range []*metricTarget{metric.Resource, metric.ContainerResource, metric.Pods, metric.Object, metric.External} {
			if of != nil {
				found.Targets[strings.TrimSpace(of.Container+" "+cmp.Or(of.Name, of.Metric.Name))] = of.text()
			}
		}
	}
	return found
}

// HorizontalAutoscalers returns the autoscalers of the wanted namespaces by what they scale, and how many there are in
// the cluster. Of several for one workload, which Kubernetes lets do nothing, the first by name counts.
func (s Server) HorizontalAutoscalers(ctx context.Context, wanted func(namespace string) bool) (found map[Scaled]Horizontal, there int, err error) {
	found = make(map[Scaled]Horizontal)
	err = list(ctx, s, "/apis/autoscaling/v2/horizontalpodautoscalers", fromCache, func(one *horizontal) {
		there++
		of := one.Spec.ScaleTargetRef.in(one.Metadata.Namespace)
		if known, twice := found[of]; wanted(of.Namespace) && (!twice || one.Metadata.Name < known.Name) {
			found[of] = one.settings()
		}
	})
	return found, there, err
}

// VerticalOfContainer holds the settings of a VerticalPodAutoscaler for one container, and what it recommends: cpus and
// bytes. Allowed has min_cpus, max_cpus, min_bytes, and max_bytes, as far as they are set.
type VerticalOfContainer struct {
	Name        string             `json:"name"`
	Mode        string             `json:"mode"`
	Allowed     Bounds             `json:"allowed,omitempty"`
	Recommended map[string]float64 `json:"recommended,omitempty"`
}

// Vertical holds the used fields of a v1.VerticalPodAutoscaler of autoscaling.k8s.io.
type Vertical struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		TargetRef      scaleTarget
		UpdatePolicy   struct{ UpdateMode string }
		ResourcePolicy struct {
			ContainerPolicies []struct {
				ContainerName, Mode    string
				MinAllowed, MaxAllowed amounts
			}
		}
	}
	Status struct {
		Recommendation struct {
			ContainerRecommendations []struct {
				ContainerName string
				Target        amounts
			}
		}
	}
}

// Of returns what applies to a container: the policy with its name, or the one for all ("*").
func (v Vertical) Of(container string) VerticalOfContainer {
	found := VerticalOfContainer{Name: v.Metadata.Name, Mode: cmp.Or(v.Spec.UpdatePolicy.UpdateMode, "Recreate"), Allowed: Bounds{}}
	policies := v.Spec.ResourcePolicy.ContainerPolicies
	for _, name := range []string{container, "*"} {
		for _, policy := range policies {
			if policy.ContainerName != name {
				continue
			}
			if policy.Mode == "Off" {
				found.Mode = policy.Mode
			}
			found.Allowed.strictest("min_cpus", policy.MinAllowed.CPU, isMore)
			found.Allowed.strictest("max_cpus", policy.MaxAllowed.CPU, isLess)
			found.Allowed.strictest("min_bytes", policy.MinAllowed.Memory, isMore)
			found.Allowed.strictest("max_bytes", policy.MaxAllowed.Memory, isLess)
			policies = nil
			break
		}
	}
	for _, one := range v.Status.Recommendation.ContainerRecommendations {
		if one.ContainerName == container {
			found.Recommended = one.Target.parsed()
		}
	}
	return found
}

func (a amounts) parsed() map[string]float64 {
	found := make(map[string]float64)
	for name, text := range map[string]string{"cpus": a.CPU, "bytes": a.Memory} {
		if amount, ok := quantity.Parse(text); ok {
			found[name] = amount
		}
	}
	return found
}

// VerticalAutoscalers is HorizontalAutoscalers for the other kind, which a cluster has only if it was added: otherwise
// there are none.
func (s Server) VerticalAutoscalers(ctx context.Context, wanted func(namespace string) bool) (found map[Scaled]Vertical, there int, err error) {
	found = make(map[Scaled]Vertical)
	err = list(ctx, s, "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers", fromCache, func(one *Vertical) {
		there++
		of := one.Spec.TargetRef.in(one.Metadata.Namespace)
		if known, twice := found[of]; wanted(of.Namespace) && (!twice || one.Metadata.Name < known.Metadata.Name) {
			found[of] = *one
		}
	})
	if errors.Is(err, ErrNotFound) {
		return found, 0, nil
	}
	return found, there, err
}
