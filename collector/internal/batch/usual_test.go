package batch

import (
	"fmt"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// layouts are the blocks of a batch without their times and values.
func layouts(b *ingestpb.Batch) string {
	text := ""
	for _, block := range b.Blocks {
		text += fmt.Sprint(block.TickCount, block.Encoding, block.Metric, "; ")
	}
	return text
}

// TestBlocksOfBatchesAgree has a series that is sampled in every third batch only, and one whose values need more bits
// in some.
func TestBlocksOfBatchesAgree(t *testing.T) {
	store, encoder := openStore(t, t.TempDir()), &Encoder{Version: "test"}
	group := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, "/group", Node)
	steady, seldom, wide := store.Series(group, 1), store.Series(group, 2), store.Series(group, 3)
	seen := map[string]int{}
	got := map[point]float64{}
	for number := range int64(60) {
		for tick := range int64(5) {
			store.Begin(firstTick + 5*number + tick)
			store.Set(steady, 1)
			if number%3 == 0 && tick == 2 {
				store.Set(seldom, 2)
			}
			store.Set(wide, float64(number%2*100_000+3))
			store.Commit()
		}
		batch := sealBy(t, encoder, store, firstTick+5*(number+1))
		points(t, batch, got, map[point]bool{})
		seen[layouts(batch)]++
	}
	if len(got) != 2*60*5+20 {
		t.Errorf("%d values came back", len(got))
	}
	// The first batch with a wide value changes its blocks for good.
	if len(seen) != 2 {
		t.Errorf("blocks differ: %v", seen)
	}
}

func TestASeriesIsForgottenAfterMinutes(t *testing.T) {
	store, encoder := openStore(t, t.TempDir()), &Encoder{Version: "test"}
	group := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, "/group", Node)
	steady, once, wideOnce := store.Series(group, 1), store.Series(group, 2), store.Series(group, 3)
	tick := int64(firstTick)
	write := func(first bool) string {
		store.Begin(tick)
		store.Set(steady, 1)
		store.Set(wideOnce, 3)
		if first {
			store.Set(once, 2)
			store.Set(wideOnce, 100_000)
		}
		store.Commit()
		tick++
		return layouts(sealBy(t, encoder, store, tick))
	}
	first := write(true)
	tick += rememberTicks - 10
	if text := write(false); text != first {
		t.Errorf("after less than 5 min: %s, not %s", text, first)
	}
	tick += 20
	if text := write(false); text == first {
		t.Errorf("after 5 min still %s", text)
	}
}

// TestWhatHasNoValueAtAllIsLeftOut: a container that ended is not kept alive by what it once had.
func TestWhatHasNoValueAtAllIsLeftOut(t *testing.T) {
	store, encoder := openStore(t, t.TempDir()), &Encoder{Version: "test"}
	group := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, "/group", Node)
	own, node := store.Series(group, 1), store.Series(Node, 2)
	for tick := range int64(2) {
		store.Begin(firstTick + tick)
		store.Set(node, 1)
		if tick == 0 {
			store.Set(own, 1)
		}
		store.Commit()
		batch := sealBy(t, encoder, store, firstTick+tick+1)
		if named := len(batch.Resources) == 2; named != (tick == 0) {
			t.Errorf("tick %d: resources %v", tick, batch.Resources)
		}
	}
}
