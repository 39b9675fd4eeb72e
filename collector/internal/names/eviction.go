package names

import (
	"strings"
	"time"
)

// Eviction is why a pod had to leave its node. The kubelet keeps a pod that it evicted itself in its list; one evicted
// through the API is there only until its containers have ended.
type Eviction struct {
	Reason  string // TerminationByKubelet, EvictionByEvictionAPI, DeletionByTaintManager, PreemptionByScheduler, Evicted, …
	Message string // "The node was low on resource: memory. …"
	AtUS    int64  // whole seconds; 0: not known
}

// maxMessageBytes is enough for the resource, its threshold, and a container that used it.
const maxMessageBytes = 400

// condition holds the used fields of a v1.PodCondition.
type condition struct {
	Type, Status, Reason, Message string
	LastTransitionTime            time.Time
}

// eviction reads the condition DisruptionTarget, beta since Kubernetes 1.26. Before, only an eviction by the kubelet shows,
// by the pod's reason.
func (p *pod) eviction() Eviction {
	var found Eviction
	for _, one := range p.Status.Conditions {
		if one.Type == "DisruptionTarget" && one.Status == "True" {
			found = Eviction{Reason: one.Reason, Message: one.Message}
			if !one.LastTransitionTime.IsZero() {
				found.AtUS = one.LastTransitionTime.UnixMicro()
			}
		}
	}
	if p.Status.Reason == "Evicted" {
		if found.Reason == "" {
			found.Reason = p.Status.Reason
		}
		found.Message = p.Status.Message
	}
	found.Message = shortened(found.Message)
	return found
}

func shortened(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "")
	if len(text) > maxMessageBytes {
		text = strings.ToValidUTF8(text[:maxMessageBytes], "") + "…"
	}
	return text
}
