package dnscapture

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

func TestCountsAndTimes(t *testing.T) {
	w := newWorld(t)
	client := endpoint("10.0.0.7", 40000)
	w.exchange(1_000, 300, client, 1, dns.RcodeSuccess)
	w.exchange(2_000, 700, client, 2, dns.RcodeNameError)
	w.exchange(3_000, 21_000, client, 3, dns.RcodeServerFailure)
	w.send(50_000, client, server53, message(4, "b.example.", false, 0))
	w.send(50_500, client, server53, message(4, "b.example.", false, 0)) // repeated
	w.send(51_000, server53, client, message(99, "x.example.", true, 0)) // unsolicited
	w.tick()
	w.expect(catalogue.DNSQueries, 4)
	w.expect(catalogue.DNSAnswers, 3)
	w.expect(catalogue.DNSNxdomain, 1)
	w.expect(catalogue.DNSServfail, 1)
	w.expect(catalogue.DNSSlow, 1)
	w.expect(catalogue.DNSLatencyMaxUS, 21_000)
	w.expect(catalogue.DNSInflight, 1)
	if w.triggers != 1 {
		t.Errorf("%d triggers for one slow query", w.triggers)
	}
	w.send(120_000, server53, client, message(4, "b.example.", true, dns.RcodeRefused))
	w.tick()
	w.expect(catalogue.DNSQueries, 0)
	w.expect(catalogue.DNSAnswers, 1)
	w.expect(catalogue.DNSRefused, 1)
	w.expect(catalogue.DNSLatencyMaxUS, 70_000)
	w.expect(catalogue.DNSInflight, 0)
	if stats := w.tracker.Statistics(); stats.Repeated != 1 || stats.Unmatched != 1 {
		t.Errorf("%+v", stats)
	}
}

func TestTimeoutAfterFiveSeconds(t *testing.T) {
	w := newWorld(t)
	client := endpoint("10.0.0.7", 40000)
	w.send(50_000, client, server53, message(1, "a.example.", false, 0))
	for range 50 {
		w.tick()
	}
	w.expect(catalogue.DNSTimeouts, 0)
	w.tick()
	w.expect(catalogue.DNSTimeouts, 1)
	w.expect(catalogue.DNSInflight, 0)
	w.tick()
	w.expect(catalogue.DNSTimeouts, 0)
	w.send(5_300_000, server53, client, message(1, "a.example.", true, 0)) // too late
	w.tick()
	w.expect(catalogue.DNSAnswers, 0)
}

func TestServfailOfAQueryThatWasGivenUp(t *testing.T) {
	w := newWorld(t)
	client := endpoint("10.0.0.7", 40000)
	for id := uint16(1); id <= 4; id++ {
		w.send(50_000, client, server53, message(id, "a.example.", false, 0))
	}
	for range 51 {
		w.tick()
	}
	w.expect(catalogue.DNSTimeouts, 4)
	w.expect(catalogue.DNSLateServfail, 0)
	w.send(5_150_000, server53, client, message(1, "a.example.", true, dns.RcodeServerFailure))
	w.send(5_150_000, server53, client, message(2, "a.example.", true, 0)) // late, but not a failure
	w.tick()
	w.expect(catalogue.DNSLateServfail, 1)
	w.expect(catalogue.DNSServfail, 0) // it was counted as a timeout
	w.expect(catalogue.DNSAnswers, 0)
	w.send(5_250_000, server53, client, message(1, "a.example.", true, dns.RcodeServerFailure)) // already counted
	w.send(5_250_000, client, server53, message(3, "a.example.", false, 0))                     // retransmitted
	w.send(5_260_000, server53, client, message(3, "a.example.", true, dns.RcodeServerFailure))
	w.tick()
	w.expect(catalogue.DNSLateServfail, 0)
	w.expect(catalogue.DNSServfail, 1)
	for range 30 {
		w.tick()
	}
	w.send(8_400_000, server53, client, message(4, "a.example.", true, dns.RcodeServerFailure)) // forgotten
	w.tick()
	w.expect(catalogue.DNSLateServfail, 0)
}

func TestSameIDFromManyClients(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		w.send(int64(i), endpoint("10.0.1.1", uint16(1000+i)), server53, message(7, "a.example.", false, 0))
	}
	for i := range 200 {
		w.send(int64(1000+i), server53, endpoint("10.0.1.1", uint16(1199-i)), message(7, "a.example.", true, 0))
	}
	w.tick()
	w.expect(catalogue.DNSAnswers, 200)
	w.expect(catalogue.DNSInflight, 0)
}

func TestClientThatReplacesItsOwnPathKeepsItsResource(t *testing.T) {
	w := newWorld(t)
	series := func(batch.ResourceID, uint32) batch.Slot { return batch.NoSlot }
	w.exchange(100, 50, endpoint("10.0.0.1", 4000), 1, 0)
	w.tick()
	change, ok := w.tracker.Promote(w.server)
	if !ok {
		t.Fatal("nobody asks")
	}
	for _, of := range []struct{ resource, gone batch.ResourceID }{{100, batch.NoResource}, {100, batch.NoResource}, {101, 100}} {
		if gone := w.tracker.SetPath(w.server, change, NewCounted(of.resource, series)); gone != of.gone {
			t.Errorf("resource %d: %d is to be released, want %d", of.resource, gone, of.gone)
		}
	}
}

func TestPathsOfBusiestClients(t *testing.T) {
	w := newWorld(t)
	promote := func() {
		for range 2 * MaxPaths {
			change, ok := w.tracker.Promote(w.server)
			if !ok {
				return
			}
			resource := batch.ResourceID(100 + int(change.Client[15]))
			w.tracker.SetPath(w.server, change, NewCounted(resource, func(r batch.ResourceID, metric uint32) batch.Slot {
				slot := batch.Slot(10_000 + len(w.names))
				w.names[slot] = fmt.Sprintf("%d/%d", r, metric)
				return slot
			}))
		}
	}
	ask := func(client byte, times int) {
		for range times {
			w.exchange(w.endUS-baseUS+100, 50, endpoint(fmt.Sprintf("10.0.0.%d", client), 4000), uint16(client), 0)
		}
	}
	for client := byte(1); client <= 12; client++ {
		ask(client, int(client)*5)
	}
	promote()
	w.tick()
	for client := byte(1); client <= 12; client++ {
		ask(client, int(client))
	}
	w.tick()
	sum := 0.0
	for client := 1; client <= 12; client++ {
		values := w.values[fmt.Sprintf("%d/%d", 100+client, catalogue.DNSQueries)]
		own := client > 12-MaxPaths
		if own != (len(values) > 0) {
			t.Errorf("client %d: own path %v, values %v", client, own, values)
		}
		if own {
			sum += values[len(values)-1]
		}
	}
	other := w.values[fmt.Sprintf("2/%d", catalogue.DNSQueries)]
	if total := sum + other[len(other)-1]; total != 78 {
		t.Errorf("the paths together have %v queries instead of 78", total)
	}
	ask(1, 1000)
	promote()
	if w.server.paths[0] == nil || len(w.values["101/80"]) != 0 {
		t.Fatal("path of client 1 exists too early")
	}
	w.tick()
	if len(w.values[fmt.Sprintf("101/%d", catalogue.DNSQueries)]) == 0 {
		t.Error("the busiest client did not get a path")
	}
}

func TestServerLeavesNothingBehind(t *testing.T) {
	w := newWorld(t)
	for i := range 100 {
		w.send(int64(i), endpoint("10.0.0.7", uint16(1000+i)), server53, message(1, "a.example.", false, 0))
	}
	w.tracker.Remove(w.server)
	if w.tracker.inflight.first() != nil {
		t.Error("unanswered queries are left")
	}
	w.send(500, endpoint("10.0.0.7", 1), server53, message(1, "a.example.", false, 0))
	if got := w.tracker.Candidates(); len(got) != 1 || got[0].Endpoint != server53 {
		t.Errorf("candidates %v", got)
	}
}
