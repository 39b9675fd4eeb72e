package batch

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

const firstTick = 17_952_560_000

var spoolID = [16]byte{1, 2, 3}

// openStore opens a store started at firstTick; opening another in the same directory simulates a kill.
func openStore(t *testing.T, directory string) *Store {
	t.Helper()
	store, leftovers, err := Open(directory, spoolID, 1, "node")
	if err != nil {
		t.Fatal(err)
	}
	if len(leftovers) != 0 {
		t.Fatalf("a new store has %d leftovers", len(leftovers))
	}
	store.Start(firstTick)
	return store
}

func seal(t *testing.T, store *Store, next int64) *ingestpb.Batch {
	t.Helper()
	return sealBy(t, &Encoder{Version: "test"}, store, next)
}

// sealBy encodes with what the encoder remembers of earlier batches.
func sealBy(t *testing.T, encoder *Encoder, store *Store, next int64) *ingestpb.Batch {
	t.Helper()
	sealed, err := store.Rotate(next)
	if err != nil {
		t.Fatal(err)
	}
	return decodeBy(t, encoder, sealed)
}

func decode(t *testing.T, sealed *Sealed) *ingestpb.Batch {
	t.Helper()
	return decodeBy(t, &Encoder{Version: "test"}, sealed)
}

func decodeBy(t *testing.T, encoder *Encoder, sealed *Sealed) *ingestpb.Batch {
	t.Helper()
	encoded, _ := encoder.Encode(sealed, 42, 7)
	var decoded ingestpb.Batch
	if err := proto.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	sealed.Release()
	return &decoded
}

type point struct {
	key    string
	metric uint32
	tick   int64
}

// points unpacks the series of a batch; a tick that two blocks contain is an error, even if one calls it missing.
func points(t *testing.T, b *ingestpb.Batch, into map[point]float64, stated map[point]bool) {
	t.Helper()
	named := make(map[string]bool)
	for _, resource := range b.Resources {
		if named[resource.Key] {
			t.Fatalf("%s is named twice", resource.Key)
		}
		named[resource.Key] = true
	}
	for _, block := range b.Blocks {
		width := map[ingestpb.Encoding]int{1: 8, 2: 4, 3: 2}[block.Encoding]
		if len(block.Values) != len(block.Resource)*int(block.TickCount)*width || len(block.Metric) != len(block.Resource) {
			t.Fatalf("block %v has the wrong size", block)
		}
		at := block.Values
		for i := range block.Resource {
			for tick := range int64(block.TickCount) {
				key := point{b.Resources[block.Resource[i]].Key, block.Metric[i], block.StartUs/int64(block.StepUs) + tick}
				value, absent := 0.0, false
				switch block.Encoding {
				case ingestpb.Encoding_ENCODING_F64:
					value = math.Float64frombits(binary.LittleEndian.Uint64(at))
					absent = value != value
				case ingestpb.Encoding_ENCODING_I32:
					raw := int32(binary.LittleEndian.Uint32(at))
					value, absent = float64(raw), raw == math.MinInt32
				case ingestpb.Encoding_ENCODING_I16:
					raw := int16(binary.LittleEndian.Uint16(at))
					value, absent = float64(raw), raw == math.MinInt16
				}
				at = at[width:]
				if stated[key] {
					t.Fatalf("%v is stated twice", key)
				}
				stated[key] = true
				if !absent {
					into[key] = value
				}
			}
		}
	}
}

// TestRandomSeries writes random values, late values, gaps, and series that come and go, and expects exactly those
// back.
func TestRandomSeries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	store, encoder := openStore(t, t.TempDir()), &Encoder{Version: "test"}
	want, got, stated := map[point]float64{}, map[point]float64{}, map[point]bool{}
	values := []func() float64{
		func() float64 { return float64(random.IntN(100)) },
		func() float64 { return float64(random.IntN(1 << 30)) },
		func() float64 { return float64(random.Int64N(1 << 50)) },
		func() float64 { return random.Float64() },
		func() float64 {
			return []float64{-32768, -32767, 32767, 32768, -2147483648, 2147483647, -1, 0}[random.IntN(8)]
		},
	}
	type series struct {
		slot     Slot
		resource ResourceID
		key      string
		metric   uint32
		value    func() float64
		lag      int
	}
	var live []series
	var removed []string
	tick := int64(firstTick)
	serial := 0
	for range 400 {
		if random.IntN(5) == 0 && len(live) < 60 {
			serial++
			key := "/group" + string(rune('a'+serial%26)) + string(rune('a'+serial/26%26)) + string(rune('a'+serial/676))
			if len(removed) > 0 && random.IntN(2) == 0 { // one that existed before, perhaps in this same batch
				key = removed[len(removed)-1]
				removed = removed[:len(removed)-1]
			}
			id := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, key, Node)
			for metric := range uint32(1 + random.IntN(5)) {
				live = append(live, series{store.Series(id, metric+1), id, key, metric + 1, values[random.IntN(len(values))], max(0, int(metric)-2)})
			}
		}
		if random.IntN(20) == 0 && len(live) > 0 {
			gone := live[random.IntN(len(live))].resource
			store.Remove(gone)
			kept := live[:0]
			for _, s := range live {
				if s.resource == gone {
					if len(removed) == 0 || removed[len(removed)-1] != s.key {
						removed = append(removed, s.key)
					}
				} else {
					kept = append(kept, s)
				}
			}
			live = kept
		}
		if random.IntN(30) == 0 {
			tick += int64(random.IntN(5))
		}
		if !store.Fits(tick) || random.IntN(12) == 0 {
			points(t, sealBy(t, encoder, store, tick), got, stated)
		}
		if !store.Begin(tick) {
			t.Fatalf("tick %d refused", tick)
		}
		for _, s := range live {
			at := point{s.key, s.metric, tick - int64(s.lag)}
			if _, taken := want[at]; taken || random.IntN(6) == 0 {
				continue
			}
			want[at] = s.value()
			if s.lag == 0 {
				store.Set(s.slot, want[at])
			} else {
				store.SetAt(s.lag, s.slot, want[at])
			}
		}
		store.Commit()
		tick++
	}
	points(t, sealBy(t, encoder, store, tick), got, stated)
	if len(want) < 5000 || len(got) != len(want) {
		t.Fatalf("%d values written, %d came back", len(want), len(got))
	}
	for key, value := range want {
		if got[key] != value {
			t.Fatalf("%v: wrote %v, got %v", key, value, got[key])
		}
	}
}

func TestDeltaKeepsSumsAndInventsNothing(t *testing.T) {
	store := openStore(t, t.TempDir())
	slot := store.Series(Node, 5)
	readings := []struct {
		tick    int64
		counter uint64
	}{{0, 100}, {1, 110}, {4, 140}, {5, 3}, {6, 4}} // ticks 2 and 3 are missed, the counter is reset before 5
	for _, r := range readings {
		store.Begin(firstTick + r.tick)
		store.Delta(slot, r.counter)
		store.Commit()
	}
	got := map[point]float64{}
	points(t, seal(t, store, firstTick+7), got, map[point]bool{})
	want := map[int64]float64{1: 10, 4: 30, 6: 1}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for tick, value := range want {
		if got[point{"node", 5, firstTick + tick}] != value {
			t.Errorf("tick %d: got %v, want %v", tick, got[point{"node", 5, firstTick + tick}], value)
		}
	}
}

// TestKilled abandons a store without closing it, as SIGKILL does, with a tick half written, and expects the next run
// to find all committed ticks.
func TestKilled(t *testing.T) {
	directory := t.TempDir()
	store := openStore(t, directory)
	group := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, "/a", Node)
	slot := store.Series(group, 1)
	for tick := range int64(10) {
		store.Begin(firstTick + tick)
		store.Set(slot, float64(tick))
		store.Commit()
		if tick == 4 {
			if _, err := store.Rotate(firstTick + 5); err != nil { // sealing began and did not finish
				t.Fatal(err)
			}
		}
	}
	store.AppendFact(group, &ingestpb.Fact{Name: "cpu.quota_us", Value: "5"})
	store.Begin(firstTick + 10)
	store.Set(slot, 99) // not committed

	next, leftovers, err := Open(directory, spoolID, 1, "node")
	if err != nil {
		t.Fatal(err)
	}
	if len(leftovers) != 2 || leftovers[0].Sequence() != 1 || leftovers[1].Sequence() != 2 {
		t.Fatalf("leftovers: %v", leftovers)
	}
	got := map[point]float64{}
	stated := map[point]bool{}
	first, second := decode(t, leftovers[0]), decode(t, leftovers[1])
	points(t, first, got, stated)
	points(t, second, got, stated)
	if len(got) != 10 || got[point{"/a", 1, firstTick + 9}] != 9 {
		t.Fatalf("recovered %v", got)
	}
	if len(second.Facts) != 1 || second.Resources[second.Facts[0].Resource].Key != "/a" {
		t.Fatalf("recovered facts %v", second.Facts)
	}
	next.Start(firstTick + 20)
	if b := seal(t, next, firstTick+21); b.Sequence != 3 {
		t.Errorf("the next sequence is %d, want 3", b.Sequence)
	}
}

// TestNumberOfAnEmptyBatchIsUsedAgain kills a store right after it rotated, once and then again before it recorded
// anything: a number that never arrives would look like a lost batch.
func TestNumberOfAnEmptyBatchIsUsedAgain(t *testing.T) {
	directory := t.TempDir()
	store := openStore(t, directory)
	slot := store.Series(Node, 1)
	store.Begin(firstTick)
	store.Set(slot, 1)
	store.Commit()
	if b := seal(t, store, firstTick+1); b.Sequence != 1 {
		t.Fatalf("the first sequence is %d", b.Sequence)
	}
	for range 2 {
		killed, leftovers, err := Open(directory, spoolID, 2, "node")
		if err != nil {
			t.Fatal(err)
		}
		if len(leftovers) != 1 || leftovers[0].Sequence() != 2 {
			t.Fatalf("leftovers: %v", leftovers)
		}
		leftovers[0].Discard()
		killed.Start(firstTick + 20)
	}
	next, leftovers, err := Open(directory, spoolID, 2, "node")
	if err != nil {
		t.Fatal(err)
	}
	leftovers[0].Discard()
	next.Start(firstTick + 30)
	slot = next.Series(Node, 1)
	next.Begin(firstTick + 30)
	next.Set(slot, 1)
	next.Commit()
	if b := seal(t, next, firstTick+31); b.Sequence != 2 {
		t.Errorf("the next sequence is %d, want 2", b.Sequence)
	}
}

// TestNumbersOfEmptyBatchesAtTheEndAreUsedAgain stops a store right after it rotated: both the batch that it then seals
// and the one after it are empty.
func TestNumbersOfEmptyBatchesAtTheEndAreUsedAgain(t *testing.T) {
	directory := t.TempDir()
	for run := range uint64(3) {
		store, leftovers, err := Open(directory, spoolID, 1, "node")
		if err != nil || len(leftovers) != 0 {
			t.Fatal(leftovers, err)
		}
		first := firstTick + 30*int64(run)
		store.Start(first)
		slot := store.Series(Node, 1)
		store.Begin(first)
		store.Set(slot, 1)
		store.Commit()
		if b := seal(t, store, first+1); b.Sequence != run+1 {
			t.Errorf("run %d has the sequence %d", run, b.Sequence)
		}
		for range min(run, 1) { // the first run ends with none
			sealed, err := store.Rotate(first + 2)
			if err != nil {
				t.Fatal(err)
			}
			sealed.Discard()
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
