package names

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// hashLabels are the labels that controllers put on the pods of a ReplicaSet, with the hash that ends its name.
var hashLabels = []struct{ label, kind string }{
	{"pod-template-hash", "Deployment"},
	{"rollouts-pod-template-hash", "Rollout"}, // Argo Rollouts
}

// A CronJob names its Jobs NAME-MINUTES, after the minutes from 1970 to the time it was due (since Kubernetes 1.21).
// Eight digits are the years from 1989 to 2160.
var scheduledJob = regexp.MustCompile(`^(.+)-([0-9]{8})$`)

// A pod of a scheduled Job is created soon after the Job was due, a repeat at most this much later. A date at the end of a
// Job's name (20261126) is decades before its pod as minutes.
const repeatsWithin = 24 * time.Hour

// ownerAbove returns KIND/NAME of the controller above a pod's, which only the pod itself can reveal: the collector may
// read no ReplicaSets and no Jobs. Where that is uncertain, it is the pod's own controller.
func ownerAbove(kind, name string, labels map[string]string, created time.Time) string {
	switch kind {
	case "ReplicaSet":
		for _, by := range hashLabels {
			// A ReplicaSet of an Experiment of Argo Rollouts has the label, but another name.
			if above, ok := strings.CutSuffix(name, "-"+labels[by.label]); ok && labels[by.label] != "" && above != "" {
				return by.kind + "/" + above
			}
		}
	case "Node":
		return "" // the API server's copy of a static pod: nothing controls it, and those of one node are no workload
	case "Job":
		if parts := scheduledJob.FindStringSubmatch(name); parts != nil {
			minutes, _ := strconv.ParseInt(parts[2], 10, 64)
			if late := created.Sub(time.Unix(60*minutes, 0)); 0 <= late && late <= repeatsWithin {
				return "CronJob/" + parts[1]
			}
		}
	}
	return kind + "/" + name
}
