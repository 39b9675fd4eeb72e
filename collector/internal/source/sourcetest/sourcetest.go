// Package sourcetest runs sources on fake file systems, tick by tick and without waiting, and returns what they
// recorded.
package sourcetest

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// Node is the key of the node that the sources run on.
const Node = "node"

// Setup is the environment of the sources.
type Setup struct {
	Proc, Sys, Cgroup string // roots; an empty one is an empty folder
	Options           string // the [sources.NAME] table, of every source here
	Log               io.Writer
	Sources           []sampler.Source // in the order in which they run
}

// Run is a set of running sources.
type Run struct {
	Engine *sampler.Engine
	t      testing.TB
	store  *batch.Store
	tick   func()

	mu      sync.Mutex
	batches []*ingestpb.Batch
}

// Start starts the sources and runs discovery once. They are closed when the test ends.
func Start(t testing.TB, setup Setup) *Run {
	t.Helper()
	store, _, err := batch.Open(t.TempDir(), [16]byte{1}, 1, Node)
	if err != nil {
		t.Fatal(err)
	}
	store.Start(time.Now().UnixMicro() / batch.StepUS)
	for _, root := range []*string{&setup.Proc, &setup.Sys, &setup.Cgroup} {
		if *root == "" {
			*root = t.TempDir()
		}
	}
	log := slog.New(slog.DiscardHandler)
	if setup.Log != nil {
		log = slog.New(slog.NewTextHandler(setup.Log, nil))
	}
	r := &Run{t: t, store: store}
	r.Engine = sampler.New(sampler.Config{
		Roots: sampler.Roots{Proc: setup.Proc, Sys: setup.Sys, Cgroup: setup.Cgroup}, Store: store, Sources: setup.Sources, MaxCgroups: 1000,
		Options: func(_ string, target any) error {
			_, err := toml.Decode(setup.Options, target)
			return err
		},
		OrdinaryPriority: true, Log: log, Sealed: r.take,
	})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		r.close(setup.Sources)
	})
	// An error says that no source works, which Status shows as well.
	_ = r.Engine.Prepare(ctx)
	r.tick = r.Engine.Ticker()
	return r
}

// close closes the sources that started.
func (r *Run) close(sources []sampler.Source) {
	for _, status := range r.Engine.Status() {
		for _, source := range sources {
			if source.Name() != status.Name || status.State == ingestpb.SourceState_SOURCE_STATE_UNAVAILABLE {
				continue
			}
			if err := source.Close(); err != nil {
				r.t.Errorf("closing %s: %v", status.Name, err)
			}
		}
	}
}

func (r *Run) take(sealed *batch.Sealed) {
	encoded, _ := new(batch.Encoder).Encode(sealed, 1, 0)
	sealed.Release()
	decoded := &ingestpb.Batch{}
	if err := proto.Unmarshal(encoded, decoded); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, decoded)
}

// Ticks samples count ticks.
func (r *Run) Ticks(count int) {
	for range count {
		r.tick()
	}
}

// Eventually samples until condition holds for what was recorded, and fails the test if it does not within 30 s.
func (r *Run) Eventually(what string, condition func() bool) {
	r.t.Helper()
	for range 1500 {
		r.Ticks(1)
		if condition() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.t.Fatalf("timed out waiting: %s", what)
}

// Status is the state of a source with its detail: "ACTIVE", "DEGRADED: …", "UNAVAILABLE: …", "OFF: …".
func (r *Run) Status(name string) string {
	if why, ok := r.Engine.Off()[name]; ok {
		return "OFF: " + why
	}
	for _, status := range r.Engine.Status() {
		if status.Name == name {
			state := status.State.String()[len("SOURCE_STATE_"):]
			if status.Detail != "" {
				state += ": " + status.Detail
			}
			return state
		}
	}
	return ""
}

// each visits all that was recorded so far.
func (r *Run) each(visit func(*ingestpb.Batch)) {
	r.t.Helper()
	if sealed, err := r.store.Rotate(time.Now().UnixMicro() / batch.StepUS); err == nil {
		r.take(sealed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.batches {
		visit(b)
	}
}

// Values are the values of a series; ticks without one are left out.
func (r *Run) Values(resource string, metric uint32) (values []float64) {
	r.each(func(b *ingestpb.Batch) {
		for _, block := range b.Blocks {
			for i := range block.Resource {
				if block.Metric[i] != metric || b.Resources[block.Resource[i]].Key != resource {
					continue
				}
				for tick := range int(block.TickCount) {
					if value := ValueAt(block, i*int(block.TickCount)+tick); !math.IsNaN(value) {
						values = append(values, value)
					}
				}
			}
		}
	})
	return values
}

// Want fails the test unless a series begins with these values.
func (r *Run) Want(resource string, metric uint32, want ...float64) {
	r.t.Helper()
	got := r.Values(resource, metric)
	for i, value := range want {
		if i >= len(got) || got[i] != value {
			r.t.Errorf("metric %d of %s is %v, want %v", metric, resource, got, want)
			return
		}
	}
}

// Observed is how many observations the distributions of a series have.
func (r *Run) Observed(resource string, metric uint32) (count int) {
	r.each(func(b *ingestpb.Batch) {
		for _, d := range b.Distributions {
			if d.Metric == metric && b.Resources[d.Resource].Key == resource {
				for _, n := range d.Count {
					count += int(n)
				}
			}
		}
	})
	return count
}

// Fact is the newest value of a fact, "" if there is none.
func (r *Run) Fact(resource, name string) (value string) {
	r.each(func(b *ingestpb.Batch) {
		for _, fact := range b.Facts {
			if fact.Name == name && b.Resources[fact.Resource].Key == resource {
				value = fact.Value
			}
		}
	})
	return value
}

// Events are the attributes of the events of a kind.
func (r *Run) Events(resource, kind string) (events []map[string]string) {
	r.each(func(b *ingestpb.Batch) {
		for _, event := range b.Events {
			if event.Kind == kind && b.Resources[event.Resource].Key == resource {
				events = append(events, event.Attributes)
			}
		}
	})
	return events
}

// Triggers are the reasons for which a diagnosis of a resource was requested.
func (r *Run) Triggers(resource string) (reasons []string) {
	r.each(func(b *ingestpb.Batch) {
		for _, trigger := range b.Triggers {
			if b.Resources[trigger.Resource].Key == resource {
				reasons = append(reasons, trigger.Reason)
			}
		}
	})
	return reasons
}

// ValueAt is a value of a block, NaN if the tick is missing. The values of a series are TickCount apart.
func ValueAt(block *ingestpb.SeriesBlock, i int) float64 {
	switch block.Encoding {
	case ingestpb.Encoding_ENCODING_I32:
		if value := int32(binary.LittleEndian.Uint32(block.Values[4*i:])); value != math.MinInt32 {
			return float64(value)
		}
	case ingestpb.Encoding_ENCODING_I16:
		if value := int16(binary.LittleEndian.Uint16(block.Values[2*i:])); value != math.MinInt16 {
			return float64(value)
		}
	case ingestpb.Encoding_ENCODING_F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(block.Values[8*i:]))
	}
	return math.NaN()
}

// Tree writes files below a new folder and returns it. A file's text can refer to another file: "@testdata/zoneinfo".
func Tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		Write(t, root, name, text)
	}
	return root
}

// Write rewrites one file of a tree in place: sources keep files open.
func Write(t testing.TB, root, name, text string) {
	t.Helper()
	if len(text) > 0 && text[0] == '@' {
		of, err := os.ReadFile(text[1:])
		if err != nil {
			t.Fatal(err)
		}
		text = string(of)
	}
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Remove removes a file or a folder of a tree.
func Remove(t testing.TB, root, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}
