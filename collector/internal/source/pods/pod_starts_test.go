package pods

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnslog"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestPodStarts passes the source lines of a kubelet; internal/livetest tests that journalctl is read.
func TestPodStarts(t *testing.T) {
	const line = `I0225 19:30:12.230929    4509 pod_startup_latency_tracker.go:104] "Observed pod startup duration" pod="kube-system/aws-node-vw7c6" podStartSLOduration=2.471963941 podStartE2EDuration="13.230915126s" podCreationTimestamp="2025-02-25 19:29:59 +0000 UTC" firstStartedPulling="2025-02-25 19:30:00.84531012 +0000 UTC m=+2.984554843" lastFinishedPulling="2025-02-25 19:30:11.604261306 +0000 UTC m=+13.743506028" observedRunningTime="2025-02-25 19:30:12.230780261 +0000 UTC m=+14.370025005" watchObservedRunningTime="2025-02-25 19:30:12.230915126 +0000 UTC m=+14.370159852"`
	p := &podStarts{}
	r := sourcetest.Start(t, sourcetest.Setup{Options: "journal_directory = '" + t.TempDir() + "'", Sources: []sampler.Source{p}})
	p.line([]byte("something else"), time.Now(), 1, "kubelet.service")
	p.line([]byte(line), time.Now(), 1, "kubelet.service")
	got := r.Events(sourcetest.Node, catalogue.EventPodStart)
	if len(got) != 1 || got[0]["namespace"] != "kube-system" || got[0]["pod"] != "aws-node-vw7c6" || got[0]["sli_us"] != "2471829" ||
		got[0]["total_us"] != "13230780" || got[0]["image_pull_us"] != "10758951" {
		t.Errorf("%v", got)
	}
}

func TestWhatOfTheJournalIsMissing(t *testing.T) {
	if detail, needs := told(nil, 0); detail != "" || needs != "" {
		t.Errorf("%q, %q", detail, needs)
	}
	if detail, _ := told(nil, 3); !strings.Contains(detail, "decompressed: 3") {
		t.Errorf("%q", detail)
	}
	if detail, needs := told(errors.New("no journal"), 3); detail != "no journal" || needs != dnslog.Needs {
		t.Errorf("%q, %q", detail, needs)
	}
}
