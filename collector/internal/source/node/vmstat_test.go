package node

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestVmstat(t *testing.T) {
	const text = "nr_free_pages 1\npgscan_kswapd %d\npgscan_direct %d\npgsteal_kswapd 3\npgsteal_direct 4\nallocstall_normal %d\nallocstall_movable 1\n" +
		"slabs_scanned 6\ndrop_slab 7\ncompact_stall 8\n"
	proc := sourcetest.Tree(t, map[string]string{"vmstat": fmt.Sprintf(text, 10, 20, 30)})
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&vmstat{}}})
	r.Ticks(1)
	sourcetest.Write(t, proc, "vmstat", fmt.Sprintf(text, 15, 28, 30))
	r.Ticks(1)
	r.Want(sourcetest.Node, catalogue.VmScanKswapdPages, 5)
	r.Want(sourcetest.Node, catalogue.VmScanDirectPages, 8)
	r.Want(sourcetest.Node, catalogue.VmAllocStalls, 0)
	for stalls := range 3 {
		if got := r.Triggers(sourcetest.Node); stalls < 2 && len(got) > 0 {
			t.Errorf("asked after %d readings with stalls: %v", stalls, got)
		}
		sourcetest.Write(t, proc, "vmstat", fmt.Sprintf(text, 15, 28, 31+stalls))
		r.Ticks(1)
	}
	if got := r.Triggers(sourcetest.Node); !slices.Equal(got, []string{"memory_growth"}) {
		t.Errorf("triggers %v", got)
	}
}
