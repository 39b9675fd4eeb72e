package requests

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

// happen simulates what the programs report about a connection, from one time to another. more: of a connection, that the
// client had just opened another one; of retransmissions, the segments; of recovered data, that a timer ran out.
func (w *world) happen(fromUS, toUS int64, end uint8, more uint64) {
	w.finish(0, fromUS, 0, toUS, end)
	w.pending[len(w.pending)-1].ReadNs = more
}

func TestConnectionsAreCountedApartFromRequests(t *testing.T) {
	w := newWorld(t)
	w.exchange(10_000, 1_000)
	w.happen(9_000, 9_300, connected, 0)
	w.happen(20_000, 20_400, connected, 1)
	w.happen(25_000, 25_000, connected, 1) // a SYN cookie
	w.happen(30_000, 30_000, synackResent, 0)
	w.happen(40_000, 48_000, resent, 3)
	w.happen(40_000, 60_000, recovered, 1) // a timer ran out
	w.happen(70_000, 71_000, recovered, 0) // fast retransmit
	w.happen(80_000, 81_000, recovered, 0)
	w.tracker.programs.counts[w.server.number].Queued = 7
	w.sample(0, 0)
	for metric, want := range map[uint32]float64{
		catalogue.Requests: 1, catalogue.Responses: 1, catalogue.RequestsInflight: 0, catalogue.ConnectionsOpened: 3,
		catalogue.Reconnections: 2, catalogue.HandshakeUS: 2, catalogue.SynackRetransmits: 1, catalogue.Retransmits: 3,
		catalogue.RetransmitDelayUS: 1, catalogue.FastRetransmitDelayUS: 2, catalogue.AcceptQueue: 7, catalogue.ListenDrops: 0,
	} {
		w.expect(0, metric, want)
	}
	w.sample(1, 0)
	w.expect(1, catalogue.ConnectionsOpened, 0)
	if value, ok := w.values[fmt.Sprint(1, "/", catalogue.AcceptQueue)]; ok {
		t.Errorf("a queue that nothing was added to has %v", value)
	}
	if len(w.others) != 0 {
		t.Errorf("triggers %v: nobody waited for long", w.others)
	}
}

func TestClientsThatWaitTriggerOnceASecond(t *testing.T) {
	w := newWorld(t)
	w.tracker.Dropped(w.server, 3)
	w.happen(10_000, 40_000, connected, 0) // distant, and only once
	w.sample(0, 0)
	w.expect(0, catalogue.ListenDrops, 3)
	if !slices.Equal(w.others, []string{dropped}) {
		t.Errorf("triggers %v", w.others)
	}
	w.tracker.Dropped(w.server, 2)
	w.happen(110_000, 140_000, connected, 1)
	w.happen(0, 150_000, resent, 1)
	w.sample(1, 0)
	w.expect(1, catalogue.ListenDrops, 2)
	if !slices.Equal(w.others, []string{dropped, retransmission, slowHandshake}) {
		t.Errorf("triggers %v", w.others)
	}
	w.tracker.Dropped(w.server, 1)
	w.sample(10, 0)
	if !slices.Equal(w.others, []string{dropped, retransmission, slowHandshake, dropped}) {
		t.Errorf("triggers %v", w.others)
	}
}

// TestAServerThatOnlyDropsIsKnown: one that accepts nothing never receives a request.
func TestAServerThatOnlyDropsIsKnown(t *testing.T) {
	w := newWorld(t)
	server, err := w.tracker.Add()
	if err != nil {
		t.Fatal(err)
	}
	if ever, _ := w.tracker.Asked(server); ever {
		t.Error("nobody asked it")
	}
	w.tracker.Dropped(server, 2)
	if ever, _ := w.tracker.Asked(server); !ever {
		t.Error("two were dropped")
	}
}
