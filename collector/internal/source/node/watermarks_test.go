package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestWatermarkFact(t *testing.T) {
	zoneinfo, err := os.ReadFile("../../procfs/testdata/linux-6.18/zoneinfo")
	if err != nil {
		t.Fatal(err)
	}
	zones := `"zones":[{"name":"DMA","min":13,"low":16,"high":19},{"name":"DMA32","min":2680,"low":3452,"high":4224},{"name":"Normal","min":14202,"low":18298,"high":22394}]}`
	for want, files := range map[string]map[string]string{
		`{"min_free_kbytes":67584,"watermark_scale_factor":10,` + zones: {"sys/vm/min_free_kbytes": "67584\n", "sys/vm/watermark_scale_factor": "10\n"},
		`{"min_free_kbytes":67584,` + zones:                             {"sys/vm/min_free_kbytes": "67584\n"}, // before Linux 4.6
	} {
		if got, ok := watermarkFact(sourcetest.Tree(t, files), zoneinfo); got != want || !ok {
			t.Errorf("%s %v, want %s", got, ok, want)
		}
	}
	if got, ok := watermarkFact(t.TempDir(), nil); ok {
		t.Errorf("of nothing: %s", got)
	}
}

func TestWatermarks(t *testing.T) {
	proc := sourcetest.Tree(t, map[string]string{"zoneinfo": "@../../procfs/testdata/linux-6.18/zoneinfo", "sys/vm/min_free_kbytes": "67584\n"})
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&watermarks{}}})
	r.Ticks(2)
	margin := r.Values(sourcetest.Node, catalogue.VmLowMarginBytes)
	text, err := os.ReadFile(filepath.Join(proc, "zoneinfo"))
	if err != nil {
		t.Fatal(err)
	}
	pages, ok := procfs.LowMargin(procfs.ParseZones(text, make([]procfs.Zone, 8)))
	if len(margin) == 0 || !ok || pages <= 0 || margin[0] != float64(pages)*float64(os.Getpagesize()) {
		t.Errorf("%v bytes, want %d pages", margin, pages)
	}
	if fact := r.Fact(sourcetest.Node, catalogue.FactNodeWatermarks); !strings.HasPrefix(fact, `{"min_free_kbytes":67584,"zones":[{"name":"DMA",`) {
		t.Error(fact)
	}
	without := sourcetest.Start(t, sourcetest.Setup{Sources: []sampler.Source{&watermarks{}}})
	if got := without.Status("watermarks"); !strings.HasPrefix(got, "UNAVAILABLE: ") {
		t.Errorf("without the file: %s", got)
	}
}
