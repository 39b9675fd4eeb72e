package podmetrics

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Started is one pod as the kubelet logs it when it sees all its containers running.
type Started struct {
	Namespace, Pod    string
	Created           time.Time     // in whole seconds, as in the API
	Total             time.Duration // creation until the API server had stored that all containers run
	SLI               time.Duration // without pulling images and, in newer kubelets, running init containers
	PullBegan, Pulled time.Time     // zero if no image was pulled
}

const startedMessage = `"Observed pod startup duration"`

// klogTime is how klog writes a time.Time, without the monotonic reading that can follow.
const klogTime = "2006-01-02 15:04:05.999999999 -0700 MST"

// ParseStarted reads a line of the kubelet's log (klog, structured), written since 1.26:
//
//	I0225 19:30:12.230929 4509 pod_startup_latency_tracker.go:104] "Observed pod startup duration" pod="kube-system/aws-node-vw7c6"
//	podStartSLOduration=2.47 podStartE2EDuration="13.23s" podCreationTimestamp="2025-02-25 19:29:59 +0000 UTC" firstStartedPulling="…"
//	lastFinishedPulling="…" …
//
// ok is false for every other line.
func ParseStarted(line []byte) (started Started, ok bool) {
	_, rest, found := bytes.Cut(line, []byte(startedMessage))
	if !found {
		return started, false
	}
	fields := logFields(string(rest))
	started.Namespace, started.Pod, ok = strings.Cut(fields["pod"], "/")
	if !ok {
		return started, false
	}
	var errs [3]error
	started.Created, errs[0] = logTime(fields["podCreationTimestamp"])
	started.Total, errs[1] = time.ParseDuration(fields["podStartE2EDuration"])
	started.SLI, errs[2] = sloDuration(fields["podStartSLOduration"])
	for _, err := range errs {
		if err != nil {
			return started, false
		}
	}
	if started.Total < 0 || started.SLI < 0 || started.SLI > started.Total || started.Created.IsZero() {
		return started, false // seen from kubelets that counted a pull twice
	}
	late := recordedLate(fields)
	if late > started.SLI {
		return started, false
	}
	started.Total -= late
	started.SLI -= late
	if began, err := logTime(fields["firstStartedPulling"]); err == nil && !began.IsZero() {
		if ended, err := logTime(fields["lastFinishedPulling"]); err == nil && ended.After(began) {
			started.PullBegan, started.Pulled = began, ended
		}
	}
	return started, true
}

// recordedLate is the time from when the API server had stored that the pod runs until the kubelet counted its start.
//
// A kubelet counts it with a watch event of the pod. If that of the stored status comes before the response to its own
// request, the kubelet ignores it, and counts with the pod's next event, seconds or hours later
// (pkg/kubelet/util/pod_startup_latency_tracker.go of Kubernetes). Its histograms have these times too.
func recordedLate(fields map[string]string) time.Duration {
	stored, err := logTime(fields["observedRunningTime"])
	if err != nil || stored.IsZero() {
		return 0
	}
	counted, err := logTime(fields["watchObservedRunningTime"])
	if err != nil {
		return 0
	}
	return max(0, counted.Sub(stored))
}

// sloDuration is a number of seconds, or a duration if it has a unit.
func sloDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(seconds * float64(time.Second)), nil
	}
	return time.ParseDuration(text)
}

func logTime(text string) (time.Time, error) {
	text, _, _ = strings.Cut(text, " m=")
	return time.Parse(klogTime, text)
}

// logFields parses key=value and key="value" pairs.
func logFields(text string) map[string]string {
	fields := make(map[string]string)
	for {
		key, rest, ok := strings.Cut(strings.TrimLeft(text, " "), "=")
		if !ok || key == "" || strings.ContainsAny(key, " \"") {
			return fields
		}
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			value, _ := strconv.Unquote(quoted)
			fields[key], text = value, rest[len(quoted):]
			continue
		}
		value, after, _ := strings.Cut(rest, " ")
		fields[key], text = strings.TrimSpace(value), after
	}
}
