package dnscapture

import (
	"fmt"
	"math"
	"testing"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// newNamesWorld is a world whose server counts names.
func newNamesWorld(t testing.TB) *world {
	w := newWorld(t)
	w.tracker.Remove(w.server)
	w.tracker.CountNames()
	if err := w.tracker.Add(w.server); err != nil {
		t.Fatal(err)
	}
	return w
}

// ask sends a query and its answer within the open tick.
func (w *world) ask(from dnswire.Endpoint, name string, rcode int, latencyUS int64) {
	at := w.endUS - baseUS + 10
	w.send(at, from, server53, message(7, name, false, 0))
	w.send(at+latencyUS, server53, from, message(7, name, true, rcode))
}

func (w *world) ticks(n int) {
	for range n {
		w.tick()
	}
}

func TestNamesAreCountedByClientAndType(t *testing.T) {
	w := newNamesWorld(t)
	one, two := endpoint("10.0.0.7", 4000), endpoint("10.0.0.8", 4000)
	for range 30 {
		w.ask(one, "API.example.", dns.RcodeSuccess, 100)
		w.ask(one, "api.example.svc.cluster.local.", dns.RcodeNameError, 200)
	}
	for range 5 {
		w.ask(two, "api.example.", dns.RcodeServerFailure, 300)
	}
	w.send(w.endUS-baseUS+20, two, server53, message(8, "never.answered.", false, 0))
	var top TopNames
	w.ticks(50)
	if w.tracker.TakeNames(w.server, &top) {
		t.Fatal("a span ended early without a trigger")
	}
	w.tick() // a query is given up: that is a trigger
	if !w.tracker.TakeNames(w.server, &top) {
		t.Fatal("no names after a timeout")
	}
	if top.Queries != 66 || top.NXDomain != 30 || top.Servfail != 5 || top.Names != 3 || top.ToUS-top.FromUS < 5_000_000 {
		t.Errorf("%+v", top)
	}
	if top.LatencyUS != 30*100+30*200+5*300+5_000_000 {
		t.Errorf("latency sum %d", top.LatencyUS)
	}
	got := make(map[string]NameRow)
	for _, row := range top.Rows {
		got[fmt.Sprintf("%s %s %s", Text(row.Client), row.Name, row.Type)] = row
	}
	for key, want := range map[string]NameRow{
		"10.0.0.7 api.example. A":                   {Queries: 30, LatencyUS: 3000},
		"10.0.0.7 api.example.svc.cluster.local. A": {Queries: 30, NXDomain: 30, LatencyUS: 6000},
		"10.0.0.8 api.example. A":                   {Queries: 5, Servfail: 5, LatencyUS: 1500},
		"10.0.0.8 never.answered. A":                {Queries: 1, LatencyUS: 5_000_000},
	} {
		row := got[key]
		if row.Queries != want.Queries || row.NXDomain != want.NXDomain || row.Servfail != want.Servfail || row.LatencyUS != want.LatencyUS {
			t.Errorf("%s: %+v", key, row)
		}
	}
	if len(got) != 4 || string(top.Rows[0].Name) != "api.example.svc.cluster.local." {
		t.Errorf("%d rows, first %s", len(got), top.Rows[0].Name)
	}
	w.ticks(100)
	if w.tracker.TakeNames(w.server, &top) {
		t.Error("names of a span without queries")
	}
	w.ask(one, "api.example.", dns.RcodeSuccess, 100)
	w.ticks(99)
	if w.tracker.TakeNames(w.server, &top) {
		t.Error("names before 10 s have passed")
	}
	if w.tick(); !w.tracker.TakeNames(w.server, &top) || top.Queries != 1 || top.ToUS-top.FromUS != 10_000_000 {
		t.Errorf("names after 10 s: %+v", top)
	}
}

func TestNamesAtOnceAfterATrigger(t *testing.T) {
	w := newNamesWorld(t)
	client := endpoint("10.0.0.7", 4000)
	var top TopNames
	w.ticks(20)
	w.ask(client, "slow.example.", dns.RcodeSuccess, 30_000)
	w.tick()
	if !w.tracker.TakeNames(w.server, &top) || top.Queries != 1 {
		t.Fatalf("no names after a slow query: %+v", top)
	}
	spans := 0
	for range 80 { // slow all the time: not one event per trigger
		w.ask(client, "slow.example.", dns.RcodeSuccess, 30_000)
		w.tick()
		if w.tracker.TakeNames(w.server, &top) {
			spans++
		}
	}
	if spans != 1 {
		t.Errorf("%d spans in 8 s of trouble", spans)
	}
	w.ticks(60)
	w.tracker.TakeNames(w.server, &top)
	w.ticks(30)
	w.ask(client, "fast.example.", dns.RcodeSuccess, 100)
	w.ticks(30)
	w.server.WantNames()
	w.tick()
	if !w.tracker.TakeNames(w.server, &top) || top.Queries != 1 {
		t.Errorf("no names when they are wanted: %+v", top)
	}
}

// TestFloodOfNames asks for 40,000 names once and 20 names often, from the beginning or only at the end: rows are few,
// totals exact, and the 20 are present.
func TestFloodOfNames(t *testing.T) {
	for _, from := range []int{0, 30_000} {
		t.Run(fmt.Sprint("from ", from), func(t *testing.T) { testFlood(t, from) })
	}
}

func testFlood(t *testing.T, from int) {
	const once, names = 40_000, 20
	each := (once - from) / 5 / names
	w := newNamesWorld(t)
	client := endpoint("10.0.0.7", 4000)
	for i := range once {
		w.ask(client, fmt.Sprintf("random-%d.example.", i), dns.RcodeNameError, 50)
		if i >= from && i%5 == 0 {
			w.ask(client, fmt.Sprintf("often-%d.example.", i/5%names), dns.RcodeSuccess, 50)
		}
		if i%500 == 499 {
			w.tick()
		}
	}
	var top TopNames
	w.ticks(20)
	if !w.tracker.TakeNames(w.server, &top) {
		t.Fatal("no names")
	}
	if top.Queries != uint64(once+names*each) || top.NXDomain != once || len(top.Rows) > topSets*topWays {
		t.Errorf("%d queries, %d NXDOMAIN, %d rows", top.Queries, top.NXDomain, len(top.Rows))
	}
	// Five standard errors of the estimate.
	if math.Abs(float64(top.Names)-once-names) > 0.16*once {
		t.Errorf("about %d names", top.Names)
	}
	// A row counts from when it was entered: the first queries for a name can be missing from it.
	often, exact := 0, 0
	for _, row := range top.Rows[:names] {
		var number int
		if n, _ := fmt.Sscanf(string(row.Name), "often-%d.", &number); n == 1 {
			often++
			if float64(row.Queries) > 0.95*float64(each) && row.Queries <= uint32(each) {
				exact++
			}
		}
	}
	if often != names || exact != names {
		t.Errorf("%d of the %d names asked most are on top, %d with their queries", often, names, exact)
	}
}

func TestCountingNamesDoesNotAllocate(t *testing.T) {
	w := newNamesWorld(t)
	client := endpoint("10.0.0.7", 4000)
	queries := make([][]byte, 64)
	answers := make([][]byte, 64)
	for i := range queries {
		name := fmt.Sprintf("name-%d.example.", i)
		queries[i], answers[i] = message(9, name, false, 0), message(9, name, true, dns.RcodeNameError)
	}
	i := 0
	baseline := testing.AllocsPerRun(100, func() { // allocations of the helper that makes packets
		w.send(w.endUS-baseUS+1, client, endpoint("10.0.0.99", 53), queries[i%64])
		w.send(w.endUS-baseUS+1, client, endpoint("10.0.0.99", 53), queries[i%64])
		i++
	})
	if got := testing.AllocsPerRun(1000, func() {
		w.send(w.endUS-baseUS+1, client, server53, queries[i%64])
		w.send(w.endUS-baseUS+60, server53, client, answers[i%64])
		i++
	}); got > baseline {
		t.Errorf("%v allocations for a query and its answer, %v without", got, baseline)
	}
}
