package pods

import (
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// An answer without the evicted pods can mean that the kubelet did not answer: they are remembered for longer.
const rememberEvicted = time.Hour

// evictions makes an event of the node of each pod that was evicted from it. A pod that the kubelet evicted stays in its
// list until somebody deletes it: those from before the start were reported by the collector that ran then, if any.
type evictions struct {
	since    int64 // µs
	answered bool
	known    map[string]time.Time // pod UID → when it was last listed
}

func newEvictions(now time.Time) evictions {
	return evictions{since: now.UnixMicro(), known: make(map[string]time.Time)}
}

func (e *evictions) report(registry *sampler.Registry, evicted []names.Container, now time.Time) {
	for _, pod := range evicted {
		_, known := e.known[pod.PodUID]
		e.known[pod.PodUID] = now
		at := pod.Evicted.AtUS
		if at == 0 && e.answered {
			at = now.UnixMicro()
		}
		// The kubelet reports whole seconds.
		if known || at < e.since-time.Second.Microseconds() {
			continue
		}
		attributes := map[string]string{"namespace": pod.Namespace, "pod": pod.Pod, "reason": pod.Evicted.Reason}
		for name, value := range map[string]string{"owner": pod.Owner, "message": pod.Evicted.Message} {
			if value != "" {
				attributes[name] = value
			}
		}
		registry.Event(batch.Node, catalogue.EventPodEvicted, at, 0, attributes)
	}
	e.answered = true
	for uid, listed := range e.known {
		if now.Sub(listed) > rememberEvicted {
			delete(e.known, uid)
		}
	}
}
