package dnscapture

import (
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

func TestCompleteWindowAroundASlowQuery(t *testing.T) {
	w := newWorld(t)
	client := endpoint("10.0.0.7", 40000)
	var blocks []*ingestpb.QueryBlock
	for tick := range int64(100) { // 10 s, a query every 10 ms, one of them slow at 5 s
		for i := range int64(10) {
			at := tick*100_000 + i*10_000
			latency := int64(200)
			if at == 5_000_000 {
				latency = 60_000
			}
			id := uint16(tick*10 + i)
			w.send(at, client, server53, message(id, "a.example.", false, 0))
			if latency == 60_000 {
				w.tracker.reads.put(&Read{Client: client, ServerPort: 53, ID: id, ReadNS: (baseUS + at + 50_000) * 1000})
				continue
			}
			w.send(at+latency, server53, client, message(id, "a.example.", true, 0))
			if at == 5_060_000 {
				w.send(at+210, server53, client, message(500, "a.example.", true, 0))
			}
		}
		w.tick()
		if tick%5 == 0 {
			for _, b := range w.tracker.Flush(false) {
				blocks = append(blocks, b.Queries)
			}
		}
	}
	type row struct{ at, latency int64 }
	var rows []row
	covered := int64(0)
	end := int64(0)
	for _, b := range blocks {
		if b.Complete {
			covered += b.EndUs - b.StartUs
			if end != 0 && b.StartUs != end {
				t.Errorf("a hole or an overlap between %d and %d", end, b.StartUs)
			}
			end = b.EndUs
		}
		for i, offset := range b.OffsetUs {
			at := b.StartUs + int64(offset)
			if at < b.StartUs || at >= b.EndUs {
				t.Errorf("a row outside its block")
			}
			rows = append(rows, row{at - baseUS, int64(b.LatencyUs[i])})
			if b.Names[b.Name[i]] != "a.example. A" || b.Clients[b.Client[i]] != "10.0.0.7" {
				t.Errorf("row is %s by %s", b.Names[b.Name[i]], b.Clients[b.Client[i]])
			}
			if wait := b.QueueWaitUs; (wait != nil) != (rows[len(rows)-1].latency > catalogue.SlowUS) {
				t.Errorf("queue waits %v", wait)
			} else if wait != nil && wait[i] != 50_000 {
				t.Errorf("queue wait %v", wait[i])
			}
		}
	}
	if covered < 4_000_000 || covered > 4_200_000 {
		t.Errorf("complete windows cover %d us", covered)
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.at - b.at) })
	slow := 0
	for i, r := range rows {
		if i > 0 && r.at != rows[i-1].at+10_000 {
			t.Errorf("query missing or twice between %d and %d", rows[i-1].at, r.at)
		}
		if r.latency > catalogue.SlowUS {
			slow++
		}
	}
	if slow != 1 || len(rows) < 400 {
		t.Errorf("%d rows, %d slow", len(rows), slow)
	}
}

func TestLossyWindowsAreNotComplete(t *testing.T) {
	w := newWorld(t)
	w.exchange(10_000, 30_000, endpoint("10.0.0.7", 40000), 1, 0)
	w.exchange(50_000, 300, endpoint("10.0.0.7", 40000), 2, 0)
	w.tick()
	blocks := w.tracker.Flush(true)
	if len(blocks) != 1 || blocks[0].Queries.Complete || len(blocks[0].Queries.OffsetUs) != 1 {
		t.Errorf("%+v", blocks)
	}
}
