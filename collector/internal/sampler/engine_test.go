package sampler

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// probe is a source under test.
type probe struct {
	name    string
	fail    error
	sample  func(Tick, *Recorder)
	start   func(*Registry)
	closed  atomic.Bool
	samples atomic.Int64
}

func (p *probe) Name() string { return p.name }

func (p *probe) Start(_ context.Context, registry *Registry) error {
	if p.start != nil {
		p.start(registry)
	}
	return p.fail
}

func (p *probe) Sample(tick Tick, recorder *Recorder) {
	p.samples.Add(1)
	if p.sample != nil {
		p.sample(tick, recorder)
	}
}

func (p *probe) Close() error {
	p.closed.Store(true)
	return nil
}

// harness runs an engine and keeps the batches that it seals.
type harness struct {
	*Engine
	batches []*ingestpb.Batch
}

func newHarness(t *testing.T, cgroups string, sources ...Source) *harness {
	t.Helper()
	store, _, err := batch.Open(t.TempDir(), [16]byte{9}, 1, "node")
	if err != nil {
		t.Fatal(err)
	}
	store.Start(time.Now().UnixMicro() / batch.StepUS)
	h := &harness{}
	encoder := &batch.Encoder{Version: "test"}
	h.Engine = New(Config{
		Roots: Roots{Cgroup: cgroups, Proc: "/proc", Sys: "/sys"}, Store: store, Sources: sources, Log: slog.New(slog.DiscardHandler),
		Sealed: func(sealed *batch.Sealed) {
			encoded, _ := encoder.Encode(sealed, 1, 0)
			decoded := &ingestpb.Batch{}
			if err := proto.Unmarshal(encoded, decoded); err != nil {
				t.Error(err)
			}
			h.batches = append(h.batches, decoded)
			sealed.Release()
		},
	})
	return h
}

func (h *harness) status(t *testing.T, name string) *ingestpb.SourceStatus {
	t.Helper()
	for _, status := range h.Status() {
		if status.Name == name {
			return status
		}
	}
	t.Fatalf("no status of %s", name)
	return nil
}

func TestOneBadSourceDoesNotHurtTheOthers(t *testing.T) {
	good := &probe{name: "good"}
	crashing := &probe{name: "crashing", sample: func(tick Tick, _ *Recorder) {
		if tick.Sequence == 3 {
			panic("a bug")
		}
	}}
	absent := &probe{name: "absent", fail: &Unavailable{Detail: "no such file", Needs: "Linux 9"}}
	broken := &probe{name: "broken", fail: errors.New("bad options")}
	h := newHarness(t, t.TempDir(), good, crashing, absent, broken)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil && (good.samples.Load() < 5 || crashing.samples.Load() < 3) {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	if err := h.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := good.samples.Load(); n < 5 {
		t.Errorf("the good source was sampled %d times", n)
	}
	if n := crashing.samples.Load(); n != 3 {
		t.Errorf("the crashing source was sampled %d times", n)
	}
	if absent.samples.Load()+broken.samples.Load() != 0 || !good.closed.Load() {
		t.Error("sources that did not start were sampled, or one that did was not closed")
	}
	for name, state := range map[string]ingestpb.SourceState{"good": 1, "crashing": 3, "absent": 3, "broken": 3} {
		if got := h.status(t, name).State; got != state {
			t.Errorf("%s is %v", name, got)
		}
	}
	if s := h.status(t, "absent"); s.Needs != "Linux 9" || s.Detail != "no such file" {
		t.Errorf("absent: %v", s)
	}
}

func TestNothingWorks(t *testing.T) {
	h := newHarness(t, t.TempDir(), &probe{name: "absent", fail: &Unavailable{}})
	if err := h.Run(context.Background()); err == nil {
		t.Error("a collector that can sample nothing goes on")
	}
}

// TestMissedTicksAndTriggers drives ticks by hand: a stall of three ticks, a trigger that seals early, and a stall
// longer than a batch.
func TestMissedTicksAndTriggers(t *testing.T) {
	var slot batch.Slot
	counter := uint64(0)
	var seen []Tick
	source := &probe{name: "s", start: func(r *Registry) { slot = r.Series(batch.Node, catalogue.HostUserUS) }}
	source.sample = func(tick Tick, recorder *Recorder) {
		seen = append(seen, tick)
		counter += 10
		recorder.Delta(slot, counter)
	}
	h := newHarness(t, t.TempDir(), source)
	if err := h.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	state, recorder := &loopState{early: time.Now()}, &Recorder{store: h.store}
	first := time.Now().UnixMicro()/batch.StepUS/ticksPerBatch*ticksPerBatch + 1
	at := func(number, lateUS int64) {
		h.tick(state, number, (number+1)*batch.StepUS+lateUS, 0, recorder)
	}
	at(first, 100)
	at(first+1, 200)
	at(first+5, 70_000) // late, after three missed ones: the node deserves a diagnosis
	if len(h.batches) != 0 {
		t.Fatal("sealed before its time: triggers may seal only so often")
	}
	if seen[2].Missed != 3 || seen[2].LatenessUS < 70_000 || seen[2].LatenessUS > 80_000 || seen[1].Missed != 0 {
		t.Errorf("ticks %+v", seen)
	}
	state.early = time.Now().Add(-time.Second)
	at(first+6, 0)
	if len(h.batches) != 1 || len(h.batches[0].Triggers) != 1 || h.batches[0].Triggers[0].Reason != "late_tick" {
		t.Fatalf("the trigger did not seal the batch: %v", h.batches)
	}
	block := h.batches[0].Blocks[0]
	if block.TickCount != 7 || block.StartUs != first*batch.StepUS {
		t.Fatalf("block %v", block)
	}
	values := decode16(block.Values)
	missing := int16(math.MinInt16)
	for i, want := range []int16{missing, 10, missing, missing, missing, 10, 10} {
		if values[i] != want {
			t.Errorf("tick %d is %d, want %d", i, values[i], want)
		}
	}
	sealed := len(h.batches)
	at(first+7, 0)
	if len(h.batches) != sealed {
		t.Error("sealed twice within half a second")
	}
	state.early = time.Now().Add(-earlySealEvery)
	at(first+8, 0)
	if len(h.batches) != sealed+1 {
		t.Error("what follows a trigger was not sent soon")
	}
	state.early, state.trigger = time.Time{}, time.Now().Add(-aftermath)
	at(first+9, 0)
	if len(h.batches) != sealed+1 {
		t.Error("sealed early long after the trigger")
	}
	at(first+500, 0) // stopped for a while, as on a suspended machine
	at(first+501, 0)
	h.rotate(state, first+502)
	last := h.batches[len(h.batches)-1].Blocks[0]
	if last.StartUs != (first+500)*batch.StepUS || last.TickCount != 2 {
		t.Errorf("after the stop: %v", last)
	}
	if h.stats.MissedTicks.Load() != 3+490 {
		t.Errorf("%d missed ticks counted", h.stats.MissedTicks.Load())
	}
}

func decode16(raw []byte) (values []int16) {
	for ; len(raw) > 0; raw = raw[2:] {
		values = append(values, int16(uint16(raw[0])|uint16(raw[1])<<8))
	}
	return values
}

func TestCgroupsComeAndGo(t *testing.T) {
	root := t.TempDir()
	mkdir := func(path string) {
		if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("old/child")
	if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte("cpu"), 0o644); err != nil {
		t.Fatal(err)
	}
	type change struct{ added, removed int }
	changes := make(chan change, 100)
	born := make(chan bool, 100)
	source := &probe{name: "s", start: func(r *Registry) {
		r.OnCgroups(func(added, removed []*Group) {
			for _, group := range added {
				born <- group.Born
				r.Fact(group.Resource, "cpu.quota_us", "1")
			}
			changes <- change{len(added), len(removed)}
		})
	}}
	h := newHarness(t, root, source)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	expect := func(want change) {
		t.Helper()
		select {
		case got := <-changes:
			if got != want {
				t.Fatalf("told of %+v, want %+v", got, want)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("not told of %+v", want)
		}
	}
	expect(change{2, 0})
	mkdir("new")
	expect(change{1, 0})
	if err := os.RemoveAll(filepath.Join(root, "old")); err != nil {
		t.Fatal(err)
	}
	expect(change{0, 2})
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if a, b, c := <-born, <-born, <-born; a || b || !c {
		t.Error("only the third was born under watch")
	}
	parents := map[string]string{}
	for _, b := range h.batches {
		for _, resource := range b.Resources {
			parents[resource.Key] = b.Resources[resource.Parent].Key
		}
	}
	if parents["/old/child"] != "/old" || parents["/old"] != "node" || parents["/new"] != "node" {
		t.Errorf("parents %v", parents)
	}
}
