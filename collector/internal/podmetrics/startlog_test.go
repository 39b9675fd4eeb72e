package podmetrics

import (
	"strings"
	"testing"
	"time"
)

// As written by kubelets of EKS 1.31 and AKS 1.30.
const (
	pulledLine = `I0225 19:30:12.230929    4509 pod_startup_latency_tracker.go:104] "Observed pod startup duration" pod="kube-system/aws-node-vw7c6" podStartSLOduration=2.471963941 podStartE2EDuration="13.230915126s" podCreationTimestamp="2025-02-25 19:29:59 +0000 UTC" firstStartedPulling="2025-02-25 19:30:00.84531012 +0000 UTC m=+2.984554843" lastFinishedPulling="2025-02-25 19:30:11.604261306 +0000 UTC m=+13.743506028" observedRunningTime="2025-02-25 19:30:12.230780261 +0000 UTC m=+14.370025005" watchObservedRunningTime="2025-02-25 19:30:12.230915126 +0000 UTC m=+14.370159852"`
	// Of 1.34: the pod ran after 2.8 s, and was deleted after 10.6 s.
	lateLine    = `I1127 20:02:50.645130   19902 pod_startup_latency_tracker.go:104] "Observed pod startup duration" pod="shop/web-578f44d99d-fp6cw" podStartSLOduration=10.644607914 podStartE2EDuration="10.644607914s" podCreationTimestamp="2026-11-27 20:02:40 +0000 UTC" firstStartedPulling="0001-01-01 00:00:00 +0000 UTC" lastFinishedPulling="0001-01-01 00:00:00 +0000 UTC" observedRunningTime="2026-11-27 20:02:42.778593849 +0000 UTC m=+124.960653781" watchObservedRunningTime="2026-11-27 20:02:50.644607914 +0000 UTC m=+132.826667856"`
	presentLine = `I0226 16:14:44.120921    3270 pod_startup_latency_tracker.go:104] "Observed pod startup duration" pod="kube-system/csi-azuredisk-node-gkzz5" podStartSLOduration=46.120908806 podStartE2EDuration="46.120908806s" podCreationTimestamp="2025-02-26 16:13:58 +0000 UTC" firstStartedPulling="0001-01-01 00:00:00 +0000 UTC" lastFinishedPulling="0001-01-01 00:00:00 +0000 UTC" observedRunningTime="2025-02-26 16:14:44.120755608 +0000 UTC m=+80.216506551" watchObservedRunningTime="2025-02-26 16:14:44.120908806 +0000 UTC m=+80.216659949"`
)

func TestStartedPods(t *testing.T) {
	pulled, ok := ParseStarted([]byte(pulledLine))
	if !ok || pulled.Namespace != "kube-system" || pulled.Pod != "aws-node-vw7c6" || pulled.Total != 13230780261 || pulled.SLI != 2471829076 ||
		!pulled.Created.Equal(time.Date(2025, 2, 25, 19, 29, 59, 0, time.UTC)) || pulled.Pulled.Sub(pulled.PullBegan) != 10758951186 {
		t.Errorf("%+v, %v", pulled, ok)
	}
	present, ok := ParseStarted([]byte(presentLine))
	if !ok || present.Total != present.SLI || !present.PullBegan.IsZero() {
		t.Errorf("%+v, %v", present, ok)
	}
}

func TestStartsThatAreCountedLate(t *testing.T) {
	late, ok := ParseStarted([]byte(lateLine))
	if !ok || late.Total != 2778593849 || late.SLI != late.Total {
		t.Errorf("%+v, %v", late, ok)
	}
	// A kubelet that does not say when it counted.
	told, ok := ParseStarted([]byte(lateLine[:strings.Index(lateLine, " observedRunningTime")]))
	if !ok || told.Total != 10644607914 {
		t.Errorf("%+v, %v", told, ok)
	}
}

func TestOtherLines(t *testing.T) {
	for _, line := range []string{
		"", `"Observed pod startup duration"`, `"Observed pod startup duration" pod="a/b"`,
		`"Observed pod startup duration" pod="ab" podStartSLOduration=1 podStartE2EDuration="1s" podCreationTimestamp="2025-02-26 16:13:58 +0000 UTC"`,
		`"Observed pod startup duration" pod="a/b" podStartSLOduration=-9223372036.854776 podStartE2EDuration="1s" podCreationTimestamp="2025-02-26 16:13:58 +0000 UTC"`,
		`"Observed pod startup duration" pod="a/b" podStartSLOduration=1 podStartE2EDuration="1s" podCreationTimestamp="0001-01-01 00:00:00 +0000 UTC"`,
		`I0225 19:30:12.230929 4509 kubelet.go:2] "SyncLoop ADD" source="api" pods=["kube-system/aws-node-vw7c6"]`,
		`"Observed pod startup duration" pod="unclosed`,
	} {
		if started, ok := ParseStarted([]byte(line)); ok {
			t.Errorf("%s: %+v", line, started)
		}
	}
}

func FuzzStarted(f *testing.F) {
	f.Add([]byte(pulledLine))
	f.Add([]byte(presentLine))
	f.Add([]byte(lateLine))
	f.Fuzz(func(t *testing.T, line []byte) {
		if started, ok := ParseStarted(line); ok && (started.SLI > started.Total || started.SLI < 0 || started.Created.IsZero()) {
			t.Errorf("%+v", started)
		}
	})
}
