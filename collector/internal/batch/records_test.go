package batch

import (
	"math"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

func TestRecords(t *testing.T) {
	store := openStore(t, t.TempDir())
	parent := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, "/p", Node)
	child := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, "/p/c", parent)
	store.Begin(firstTick)
	var histogram Histogram
	for _, us := range []int64{0, 1, 2, 150, 150, 90_000} {
		histogram.Observe(us)
	}
	store.AppendDistribution(child, 87, firstTick, &histogram)
	histogram.Reset()
	histogram.Observe(10)
	store.AppendDistribution(child, 87, firstTick+2, &histogram)
	store.AppendEvent(child, &ingestpb.Event{Kind: "go.gc_cycle", StartUs: 5, DurationUs: 6, Attributes: map[string]string{"a": "b"}})
	store.AppendQueries(child, &ingestpb.QueryBlock{StartUs: 1, EndUs: 2, Names: []string{"x. A"}, Name: []uint32{0}})
	store.AppendTrigger(child, "throttled", 77)
	store.AppendSource(&ingestpb.SourceStatus{Name: "psi", State: ingestpb.SourceState_SOURCE_STATE_ACTIVE})
	store.AppendBlock(child, &ingestpb.SeriesBlock{StartUs: 10, StepUs: 10_000, TickCount: 1, Encoding: 3, Metric: []uint32{1, 5}, Values: []byte{1, 0, 2, 0}})
	store.Commit()
	if !store.TakeTriggered() || store.TakeTriggered() {
		t.Error("a trigger is told once")
	}
	b := seal(t, store, firstTick+1)
	if len(b.Resources) != 3 || b.Resources[0].Kind != ingestpb.ResourceKind_RESOURCE_KIND_NODE {
		t.Fatalf("resources %v", b.Resources)
	}
	at := uint32(2)
	if b.Resources[at].Key != "/p/c" || b.Resources[at].Parent != 1 || b.Resources[1].Parent != 0 {
		t.Fatalf("parents come first: %v", b.Resources)
	}
	if b.DroppedBatches != 7 || b.SealedAtUs != 42 || b.CollectorVersion != "test" || [16]byte(b.SpoolId) != spoolID {
		t.Errorf("head: %v", b)
	}
	d := b.Distributions[0]
	if len(b.Distributions) != 1 || d.Resource != at || d.TickCount != 3 || len(d.Entries) != 3 || d.Entries[1] != 0 || d.Entries[2] != 1 {
		t.Fatalf("distributions %v", b.Distributions)
	}
	total := uint32(0)
	for _, count := range d.Count {
		total += count
	}
	if total != 7 {
		t.Errorf("%d observations", total)
	}
	if e := b.Events[0]; e.Resource != at || e.Attributes["a"] != "b" || e.DurationUs != 6 {
		t.Errorf("event %v", e)
	}
	if q := b.Queries[0]; q.Server != at || q.Names[0] != "x. A" {
		t.Errorf("queries %v", q)
	}
	if g := b.Triggers[0]; g.Resource != at || g.Reason != "throttled" || g.AtUs != 77 {
		t.Errorf("trigger %v", g)
	}
	if z := b.Blocks[0]; z.StepUs != 10_000 || len(z.Resource) != 2 || z.Resource[1] != at || len(z.Metric) != 2 {
		t.Errorf("zoomed block %v", z)
	}
	if len(b.Sources) != 1 {
		t.Errorf("sources %v", b.Sources)
	}
}

func TestLimits(t *testing.T) {
	store := openStore(t, t.TempDir())
	if id := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, string(make([]byte, MaxKeyBytes+1)), Node); id != NoResource {
		t.Error("a key that is too long was taken")
	}
	if slot := store.Series(NoResource, 1); slot != NoSlot {
		t.Error("a series of no resource got a slot")
	}
	message := &ingestpb.Fact{Name: "dns.corefile", Value: string(make([]byte, 60<<10))}
	for range JournalBytes/(60<<10) + 1 {
		store.AppendFact(Node, message)
	}
	if dropped := store.Dropped(); dropped.Records == 0 || dropped.Resources != 1 || dropped.Series != 1 {
		t.Errorf("dropped %+v", dropped)
	}
	if _, err := store.Rotate(firstTick + 1); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Rotate(firstTick + 2); err != ErrFull {
		t.Errorf("rotating into a buffer that is being sealed: %v", err)
	}
}

func TestHistogramBuckets(t *testing.T) {
	for _, us := range []int64{-5, 0, 1, 2, 3, 10, 1000, 12345, 5_000_000, 1 << 40} {
		var h Histogram
		h.Observe(us)
		b := float64(h.touched[0])
		if us <= 1 {
			if b != 0 {
				t.Errorf("%d is in bucket %v", us, b)
			}
			continue
		}
		if low, high := math.Pow(Gamma, b-1), math.Pow(Gamma, b); b < Buckets-1 && (float64(us) <= low*(1-1e-9) || float64(us) > high*(1+1e-9)) {
			t.Errorf("%d is in bucket %v, (%v, %v]", us, b, low, high)
		}
	}
}

// TestAResourceComesBackElsewhere covers a server restart: the same address, another process.
func TestAResourceComesBackElsewhere(t *testing.T) {
	store := openStore(t, t.TempDir())
	first := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_PROCESS, "7:1", Node)
	server := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_DNS_SERVER, "10.0.0.10:53", first)
	store.Remove(server)
	store.Remove(first)
	second := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_PROCESS, "8:2", Node)
	if again := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_DNS_SERVER, "10.0.0.10:53", second); again != server {
		t.Fatalf("it is resource %d instead of %d", again, server)
	}
	for batch := range int64(4) { // by then the numbers of released resources are free
		tick := firstTick + batch
		store.Begin(tick)
		store.AppendTrigger(server, "accept_backlog", tick)
		store.Commit()
		b := seal(t, store, tick+1)
		at := b.Triggers[0].Resource
		if parent := b.Resources[b.Resources[at].Parent]; parent.Key != "8:2" {
			t.Fatalf("batch %d: the server belongs to %v", batch, parent)
		}
	}
}

// parentOf returns the key of the parent of the resource with a key, "" if the batch has no such resource.
func parentOf(b *ingestpb.Batch, key string) string {
	for _, one := range b.Resources {
		if one.Key == key {
			return b.Resources[one.Parent].Key
		}
	}
	return ""
}

// A cgroup is gone at once, and its process is noticed to be gone later: the next cgroup does not inherit it.
func TestAParentKeepsItsNumberAsLongAsItsChildren(t *testing.T) {
	store := openStore(t, t.TempDir())
	defer func() { _ = store.Close() }()
	first := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, "/first", Node)
	process := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_PROCESS, "7:7", first)
	store.Remove(first)
	tick := int64(firstTick)
	next := func() *ingestpb.Batch {
		tick++
		return seal(t, store, tick)
	}
	for batch := range 4 {
		store.Begin(tick)
		store.AppendTrigger(process, "slow_request", tick)
		store.Commit()
		if batch == 3 {
			store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, "/second", Node)
		}
		if parent := parentOf(next(), "7:7"); parent != "/first" {
			t.Fatalf("batch %d: the parent of the process is %q", batch, parent)
		}
	}
	store.Remove(process)
	for range keepRotations {
		next()
	}
	if left := len(store.dir.byKey); left != 2 { // the node and /second
		t.Fatalf("%d resources are left: %v", left, store.dir.byKey)
	}
}
