package kubeapi

import (
	"context"
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/quantity"
)

// Bounds are what LimitRanges allow, by name: max_cpus, min_cpus, max_bytes, min_bytes, and max_cpu_ratio and
// max_memory_ratio (limit per request). What is not restricted is absent.
type Bounds map[string]float64

// Allowed is what the LimitRanges of a namespace allow each container, and all of a pod's together.
type Allowed struct {
	Container Bounds `json:"container,omitempty"`
	Pod       Bounds `json:"pod,omitempty"`
}

// limitRange holds the used fields of a v1.LimitRange.
type limitRange struct {
	Metadata struct{ Namespace string }
	Spec     struct {
		Limits []struct {
			Type                           string
			Max, Min, MaxLimitRequestRatio amounts
		}
	}
}

// amounts holds the used entries of a v1.ResourceList.
type amounts struct{ CPU, Memory string }

// LimitRanges returns what the LimitRanges of the wanted namespaces allow, and how many there are in the cluster. Of
// several in one namespace the strictest counts, as in the server.
func (s Server) LimitRanges(ctx context.Context, wanted func(namespace string) bool) (found map[string]Allowed, there int, err error) {
	found = make(map[string]Allowed)
	err = list(ctx, s, "/api/v1/limitranges", fromCache, func(one *limitRange) {
		there++
		space := one.Metadata.Namespace
		if !wanted(space) {
			return
		}
		allowed, known := found[space]
		if !known {
			allowed = Allowed{Container: Bounds{}, Pod: Bounds{}}
			found[space] = allowed
		}
		one.bounds(allowed.Container, allowed.Pod)
	})
	return found, there, err
}

func (l *limitRange) bounds(container, pod Bounds) {
	for _, item := range l.Spec.Limits {
		of := map[string]Bounds{"Container": container, "Pod": pod}[item.Type]
		if of == nil {
			continue // a PersistentVolumeClaim
		}
		of.strictest("max_cpus", item.Max.CPU, isLess)
		of.strictest("max_bytes", item.Max.Memory, isLess)
		of.strictest("min_cpus", item.Min.CPU, isMore)
		of.strictest("min_bytes", item.Min.Memory, isMore)
		of.strictest("max_cpu_ratio", item.MaxLimitRequestRatio.CPU, isLess)
		of.strictest("max_memory_ratio", item.MaxLimitRequestRatio.Memory, isLess)
	}
}

func isLess(one, other float64) bool { return one < other }
func isMore(one, other float64) bool { return one > other }

func (b Bounds) strictest(name, text string, isStricter func(one, other float64) bool) {
	amount, ok := quantity.Parse(text)
	if !ok {
		return
	}
	if known, already := b[name]; !already || isStricter(amount, known) {
		b[name] = amount
	}
}

// Share is how much of a resource a quota allows and how much of that is used, in CPUs or bytes.
type Share struct {
	Hard float64 `json:"hard"`
	Used float64 `json:"used"`
}

// Quotas are the shares of a namespace by the name of the ResourceQuota, and by resource: limits.cpu, limits.memory,
// requests.cpu, requests.memory.
type Quotas map[string]map[string]Share

// maxQuotas bounds how many quotas of a namespace are kept: each is a part of a fact.
const maxQuotas = 50

// resourceQuota holds the used fields of a v1.ResourceQuota. The server enforces what is in its status.
type resourceQuota struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		Scopes        []string
		ScopeSelector struct {
			MatchExpressions []struct{ ScopeName, Operator string }
		}
	}
	Status struct{ Hard, Used map[string]string }
}

// quotaResources are the names of a resource in a quota: the short ones are the same as requests.
var quotaResources = map[string]string{
	"limits.cpu": "limits.cpu", "limits.memory": "limits.memory",
	"requests.cpu": "requests.cpu", "cpu": "requests.cpu", "requests.memory": "requests.memory", "memory": "requests.memory",
}

// Quotas returns the quotas of the wanted namespaces, and how many there are in the cluster. Quotas are left out whose
// scopes apply to some pods only, of which nothing tells which: those of a priority class, or that end or do not.
func (s Server) Quotas(ctx context.Context, wanted func(namespace string) bool) (found map[string]Quotas, there int, err error) {
	found = make(map[string]Quotas)
	err = list(ctx, s, "/api/v1/resourcequotas", fromCache, func(one *resourceQuota) {
		there++
		space := one.Metadata.Namespace
		if !wanted(space) || !one.countsEveryLimit() || len(found[space]) == maxQuotas {
			return
		}
		if shares := one.shares(); len(shares) > 0 {
			if found[space] == nil {
				found[space] = Quotas{}
			}
			found[space][one.Metadata.Name] = shares
		}
	})
	return found, there, err
}

// countsEveryLimit reports whether the quota counts each pod with a limit. Such a pod is never BestEffort.
func (q *resourceQuota) countsEveryLimit() bool {
	for _, one := range q.Spec.ScopeSelector.MatchExpressions {
		if one.ScopeName != "NotBestEffort" || one.Operator != "Exists" {
			return false
		}
	}
	return !slices.ContainsFunc(q.Spec.Scopes, func(scope string) bool { return scope != "NotBestEffort" })
}

func (q *resourceQuota) shares() map[string]Share {
	shares := make(map[string]Share)
	for name, text := range q.Status.Hard {
		resource := quotaResources[name]
		hard, isAmount := quantity.Parse(text)
		used, isKnown := quantity.Parse(q.Status.Used[name])
		if resource == "" || !isAmount || !isKnown {
			continue
		}
		if known, twice := shares[resource]; !twice || hard < known.Hard {
			shares[resource] = Share{Hard: hard, Used: used}
		}
	}
	return shares
}
