package pods

import (
	"fmt"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestCNIMetrics reads a page at a configured address; pod_page_test.go covers an agent that is found.
func TestCNIMetrics(t *testing.T) {
	url := pageThatChanges(t, "cilium-1.14.1-before.txt", "cilium-1.14.1-after.txt")
	r := sourcetest.Start(t, sourcetest.Setup{
		Options: fmt.Sprintf("url = %q\nevery_s = 0.5\n", url), Sources: []sampler.Source{&cniMetrics{}},
	})
	r.Eventually("regenerations", func() bool { return r.Observed(sourcetest.Node, catalogue.PodCniUS) > 0 })
	if got := r.Observed(sourcetest.Node, catalogue.PodBpfLoadUS); got == 0 {
		t.Error("no loads of programs")
	}
	if got := r.Fact(sourcetest.Node, catalogue.FactNodeCilium); got != "1.14.1" {
		t.Errorf("Cilium %q", got)
	}
	off := sourcetest.Start(t, sourcetest.Setup{Options: `url = "off"`, Sources: []sampler.Source{&cniMetrics{}}})
	if got := off.Status("cni_metrics"); got != "OFF: url is off in [sources.cni_metrics]" {
		t.Error(got)
	}
}
