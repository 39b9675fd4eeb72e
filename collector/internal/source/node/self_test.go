package node

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestSelf(t *testing.T) {
	r := sourcetest.Start(t, sourcetest.Setup{Sources: []sampler.Source{&self{}}})
	r.Ticks(3)
	numbers := r.Values(sourcetest.Node, catalogue.CollectorTick)
	if len(numbers) != 3 || numbers[1] != numbers[0]+1 || numbers[2] != numbers[0]+2 {
		t.Errorf("ticks %v", numbers)
	}
	if rss := r.Values(sourcetest.Node, catalogue.CollectorRSSBytes); len(rss) != 3 || rss[0] < 1<<20 || rss[0] > 1<<32 {
		t.Errorf("resident %v bytes", rss)
	}
	if lateness := r.Values(sourcetest.Node, catalogue.CollectorLatenessUS); len(lateness) != 3 {
		t.Errorf("lateness %v", lateness)
	}
	spent := 0.0
	for range 1000 { // the clock of CPU time can be coarse
		r.Ticks(1)
	}
	for _, us := range r.Values(sourcetest.Node, catalogue.CollectorCPUUS) {
		spent += us
	}
	if spent <= 0 {
		t.Error("no CPU time was spent")
	}
}
