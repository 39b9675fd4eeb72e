package batch

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

var update = flag.Bool("update", false, "write the golden batches of contracts/ anew")

const examples = "../../../contracts/ingest/v1/examples"

// TestExamples decodes the golden batches that the backend's tests decode too: NAME.binpb is what is on the wire before
// compression, NAME.json the same in protobuf's JSON.
func TestExamples(t *testing.T) {
	if *update {
		for name, write := range writers {
			writeExample(t, name, write(t))
		}
	}
	files, err := filepath.Glob(filepath.Join(examples, "*.binpb"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples in %s: %v", examples, err)
	}
	for _, file := range files {
		var wire, text ingestpb.Batch
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(raw, &wire); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(wire.ProtoReflect().GetUnknown()) != 0 {
			t.Errorf("%s has fields that the contract does not", file)
		}
		written, err := os.ReadFile(strings.TrimSuffix(file, ".binpb") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := protojson.Unmarshal(written, &text); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(&wire, &text) {
			t.Errorf("%s and its JSON differ", file)
		}
	}
}

// writers are the examples that the collector's own code writes.
var writers = map[string]func(*testing.T) []byte{"throttled-dns-server": example, "stall-capture": captureExample}

// TestExampleIsWhatTheCollectorWrites builds the examples with the collector's own code and expects identical bytes.
func TestExampleIsWhatTheCollectorWrites(t *testing.T) {
	for name, write := range writers {
		want, err := os.ReadFile(filepath.Join(examples, name+".binpb"))
		if err != nil {
			t.Fatal(err)
		}
		if string(write(t)) != string(want) {
			t.Errorf("the encoding of %s changed: go test ./internal/batch -update writes the examples anew; read the difference in its JSON", name)
		}
	}
}

func writeExample(t *testing.T, name string, raw []byte) {
	t.Helper()
	var decoded ingestpb.Batch
	if err := proto.Unmarshal(raw, &decoded); err != nil {
		t.Fatal(err)
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(&decoded)
	if err != nil {
		t.Fatal(err)
	}
	var plain any // protojson varies its white space on purpose
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	if text, err = json.MarshalIndent(plain, "", " "); err != nil {
		t.Fatal(err)
	}
	for suffix, content := range map[string][]byte{".binpb": raw, ".json": append(text, '\n')} {
		if err := os.WriteFile(filepath.Join(examples, name+suffix), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// example is half a second of a DNS server whose cgroup is throttled in one tick, with everything that a batch can hold.
func example(t *testing.T) []byte {
	t.Helper()
	store := openStore(t, t.TempDir())
	group := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, "/jitterscope-lab-1/coredns", Node)
	process := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_PROCESS, "4242:1234567", group)
	server := store.Resource(ingestpb.ResourceKind_RESOURCE_KIND_DNS_SERVER, "10.0.0.10:53", process)
	const start = firstTick * StepUS
	periods, throttled := store.Series(group, catalogue.CPUPeriods), store.Series(group, catalogue.CPUThrottledPeriods)
	usage, memory := store.Series(group, catalogue.CPUUsageUS), store.Series(group, catalogue.MemoryUsageBytes)
	active := store.Series(process, catalogue.GCActiveUS)
	var histogram Histogram
	for tick := range int64(5) {
		if tick == 3 {
			continue // missed
		}
		store.Begin(firstTick + tick)
		store.Set(periods, 1)
		store.Set(throttled, float64(tick/4))
		store.Set(usage, 12_000+38_000*float64(tick/4))
		store.Set(memory, 5e9+float64(tick))
		if tick > 0 {
			store.SetAt(1, active, float64(tick*10_000)) // a source that lags one tick behind
		}
		store.Commit()
		histogram.Reset()
		for i := range 10 * (tick + 1) {
			histogram.Observe(200 + 9_000*tick*i)
		}
		store.AppendDistribution(server, catalogue.DNSLatencyUS, firstTick+tick, &histogram)
	}
	store.AppendFact(group, &ingestpb.Fact{Name: catalogue.FactCPUQuotaUS, Value: "50000", ObservedAtUs: start})
	store.AppendEvent(process, &ingestpb.Event{
		Kind: catalogue.EventGoGCCycle, StartUs: start + 350_000, DurationUs: 140_000, Attributes: map[string]string{"source": "uprobe"},
	})
	store.AppendQueries(server, &ingestpb.QueryBlock{
		Complete: true, StartUs: start + 400_000, EndUs: start + 500_000, OffsetUs: []uint32{100, 900}, LatencyUs: []uint32{61_000, 240},
		Result: []ingestpb.QueryResult{ingestpb.QueryResult_QUERY_RESULT_NOERROR, ingestpb.QueryResult_QUERY_RESULT_NXDOMAIN},
		Name:   []uint32{0, 1}, Client: []uint32{0, 0}, Names: []string{"example.com. A", "missing.example.com. AAAA"},
		Clients: []string{"10.0.0.7"}, QueueWaitUs: []uint32{58_000, 20},
	})
	store.AppendTrigger(group, "throttled", start+400_000)
	store.AppendSource(&ingestpb.SourceStatus{Name: "cgroup_cpu", State: ingestpb.SourceState_SOURCE_STATE_ACTIVE})
	store.AppendSource(&ingestpb.SourceStatus{
		Name: "go_runtime", State: ingestpb.SourceState_SOURCE_STATE_DEGRADED, Detail: "threads are sampled", Needs: "CAP_BPF, CAP_PERFMON",
	})
	store.AppendBlock(group, &ingestpb.SeriesBlock{
		StartUs: start + 400_000, StepUs: ZoomStepUS, TickCount: 2, Encoding: ingestpb.Encoding_ENCODING_I32,
		Metric: []uint32{catalogue.CPUUsageUS}, Values: []byte{0x10, 0x27, 0, 0, 0, 0, 0, 0x80},
	})
	sealed, err := store.Rotate(firstTick + 5)
	if err != nil {
		t.Fatal(err)
	}
	encoder := &Encoder{Version: "0.1.0"}
	encoded, _ := encoder.Encode(sealed, start+505_000, 3)
	return encoded
}
