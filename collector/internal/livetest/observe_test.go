package livetest

import (
	"context"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/agent"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/settings"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// observer runs a collector inside the test and keeps what it would ship.
type observer struct {
	t      testing.TB
	agent  *agent.Agent
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	batches []*ingestpb.Batch
}

func observe(t testing.TB, sources string, arguments ...string) *observer {
	t.Helper()
	arguments = append([]string{"-sources", sources}, arguments...)
	s, err := settings.Parse("test", arguments, func(string) (string, bool) { return "", false }, os.Stderr, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{t: t, done: make(chan struct{})}
	place := agent.Place{Directory: t.TempDir(), SpoolID: [16]byte{1}, NextSequence: 1, Dropped: func() uint64 { return 0 }}
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	if o.agent, err = agent.New(s, "test", place, o.take, log); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	go func() {
		defer close(o.done)
		if err := o.agent.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(o.stop)
	return o
}

func (o *observer) take(_ uint64, data []byte) error {
	batch := &ingestpb.Batch{}
	if decoder, err := zstd.NewReader(nil); err == nil {
		defer decoder.Close()
		if plain, err := decoder.DecodeAll(data, nil); err == nil {
			data = plain
		}
	}
	if err := proto.Unmarshal(data, batch); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.batches = append(o.batches, batch)
	return nil
}

func (o *observer) stop() {
	o.cancel()
	<-o.done
}

// needs skips the test if a source is unavailable because a privilege or kernel feature is missing.
func (o *observer) needs(source string) {
	o.t.Helper()
	for range 50 {
		for _, status := range o.agent.Engine.Status() {
			if status.Name != source {
				continue
			}
			if status.State == ingestpb.SourceState_SOURCE_STATE_UNAVAILABLE {
				testenv.Skip(o.t, "%s: %s; needs %s", source, status.Detail, status.Needs)
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	o.t.Fatalf("source %s did not start", source)
}

// each visits the batches so far.
func (o *observer) each(visit func(*ingestpb.Batch)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, batch := range o.batches {
		visit(batch)
	}
}

// point is a value of a tick.
type point struct {
	startUS int64
	value   float64
}

// series returns the points of a series, sorted by time; missing ticks are left out.
func (o *observer) series(key string, metric uint32) []point {
	var points []point
	o.each(func(b *ingestpb.Batch) {
		for _, block := range b.Blocks {
			for i := range block.Resource {
				if block.Metric[i] != metric || b.Resources[block.Resource[i]].Key != key {
					continue
				}
				for tick := range int(block.TickCount) {
					if value := sourcetest.ValueAt(block, i*int(block.TickCount)+tick); !math.IsNaN(value) {
						points = append(points, point{block.StartUs + int64(tick)*int64(block.StepUs), value})
					}
				}
			}
		}
	})
	slices.SortFunc(points, func(a, b point) int { return int(a.startUS - b.startUS) })
	return points
}

// sum adds the values of a series from a time on.
func (o *observer) sum(key string, metric uint32, from time.Time) float64 {
	total := 0.0
	for _, p := range o.series(key, metric) {
		if p.startUS >= from.UnixMicro() {
			total += p.value
		}
	}
	return total
}

// quantile merges the distributions of a series from a time on.
func (o *observer) quantile(key string, metric uint32, from time.Time, q float64) (us float64, count int) {
	counts := make(map[uint32]int)
	o.each(func(b *ingestpb.Batch) {
		for _, d := range b.Distributions {
			if d.Metric != metric || b.Resources[d.Resource].Key != key {
				continue
			}
			at := 0
			for tick, n := range d.Entries {
				for range n {
					if d.StartUs+int64(tick)*int64(d.StepUs) >= from.UnixMicro() {
						counts[d.Bucket[at]] += int(d.Count[at])
						count += int(d.Count[at])
					}
					at++
				}
			}
		}
	})
	var buckets []uint32
	for bucket := range counts {
		buckets = append(buckets, bucket)
	}
	slices.Sort(buckets)
	rank := q * float64(count-1)
	seen := 0
	for _, bucket := range buckets {
		if seen += counts[bucket]; float64(seen) > rank {
			return 2 * math.Pow(1.04, float64(bucket)) / 2.04, count
		}
	}
	return math.NaN(), count
}

// fact returns the newest value of a fact.
func (o *observer) fact(key, name string) (value string) {
	o.each(func(b *ingestpb.Batch) {
		for _, fact := range b.Facts {
			if fact.Name == name && b.Resources[fact.Resource].Key == key {
				value = fact.Value
			}
		}
	})
	return value
}

// parents returns the keys from a resource up to the node, as last sent.
func (o *observer) parents(key string) (keys []string) {
	o.each(func(b *ingestpb.Batch) {
		for i, resource := range b.Resources {
			if resource.Key != key {
				continue
			}
			keys = nil
			for at := uint32(i); ; at = b.Resources[at].Parent {
				keys = append(keys, b.Resources[at].Key)
				if b.Resources[at].Parent == at {
					break
				}
			}
		}
	})
	return keys
}

// waitFor polls until condition holds; found reports the actual state.
func waitFor(t testing.TB, what string, condition func() bool, found ...func() string) {
	t.Helper()
	// Other programs can share the machine: only what never happens fails.
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		if condition() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, say := range found {
		t.Log(say())
	}
	t.Fatalf("timed out waiting: %s", what)
}

// hasResource reports whether a resource was sent.
func (o *observer) hasResource(key string) bool { return len(o.parents(key)) > 0 }

// processKey returns the key of a process that was sent, "" if it was not.
func (o *observer) processKey(pid int) (key string) {
	o.each(func(b *ingestpb.Batch) {
		for _, resource := range b.Resources {
			if resource.Kind == ingestpb.ResourceKind_RESOURCE_KIND_PROCESS && isOf(resource.Key, pid) {
				key = resource.Key
			}
		}
	})
	return key
}

// withFact returns the key of a process below a cgroup that has a fact of this name, "" if there is none.
func (o *observer) withFact(cgroup, name string) (key string) {
	o.each(func(b *ingestpb.Batch) {
		for _, fact := range b.Facts {
			if process := b.Resources[fact.Resource]; fact.Name == name && b.Resources[process.Parent].Key == cgroup {
				key = process.Key
			}
		}
	})
	return key
}
