package pods

import (
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestAnEvictionIsReportedOnce: also without a time, and if the kubelet did not answer in between.
func TestAnEvictionIsReportedOnce(t *testing.T) {
	w := &workloadNames{}
	r := sourcetest.Start(t, sourcetest.Setup{Options: "kubelet = \"off\"\ncri_sockets = []\ndocker_socket = \"/none\"\n", Sources: []sampler.Source{w}})
	start := time.Now()
	pod := func(uid string, at time.Time) names.Container {
		found := names.Container{PodUID: uid, Pod: uid, Evicted: names.Eviction{Reason: "Evicted"}}
		if !at.IsZero() {
			found.Evicted.AtUS = at.UnixMicro()
		}
		return found
	}
	e := newEvictions(start)
	before, timeless, after := pod("before", start.Add(-time.Minute)), pod("timeless", time.Time{}), pod("after", start)
	for minute, listed := range [][]names.Container{
		{before, pod("timeless before", time.Time{})}, {before, timeless}, {}, {before, timeless, after}, {after},
	} {
		e.report(w.registry, listed, start.Add(time.Duration(minute)*time.Minute))
	}
	var got []string
	for _, event := range r.Events(sourcetest.Node, "pod.evicted") {
		got = append(got, event["pod"])
	}
	if len(got) != 2 || got[0] != "timeless" || got[1] != "after" {
		t.Errorf("reported %q", got)
	}
	e.report(w.registry, nil, start.Add(2*time.Hour))
	if len(e.known) != 0 {
		t.Errorf("still remembers %v", e.known)
	}
}
