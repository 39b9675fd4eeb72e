package cgroup

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// TestZoomCoversWhatCameBefore has a cgroup use half of its quota and get throttled once, and expects it at 10 ms from
// before the throttling on, with nothing twice and nothing lost in between. A process without CPU time misses ticks of
// 10 ms.
func TestZoomCoversWhatCameBefore(t *testing.T) {
	var values map[uint32]map[int64]int32
	var throttledAt int64
	testenv.UntilUndisturbed(t, 3*batch.ZoomStepUS*time.Microsecond, func() (longest time.Duration) {
		values, throttledAt, longest = zoomed(t)
		return longest
	})
	var sum, before int32
	for number, value := range values[catalogue.CPUThrottledPeriods] {
		sum += value
		if value > 0 && math.Abs(float64(number*batch.ZoomStepUS-throttledAt)) > 100_000 {
			t.Errorf("throttled in the tick at %d us, it was at %d us", number*batch.ZoomStepUS, throttledAt)
		}
	}
	if sum != 1 {
		t.Errorf("throttled %d times at 10 ms, want once", sum)
	}
	for number := range values[catalogue.CPUUsageUS] {
		if number*batch.ZoomStepUS < throttledAt-100_000 {
			before++
		}
	}
	if before < 40 {
		t.Errorf("only %d samples from before the throttling", before)
	}
}

// zoomed returns the values at 10 ms by metric and tick number, when (µs) the cgroup was throttled, and the longest
// time for which this process had no CPU.
func zoomed(t *testing.T) (values map[uint32]map[int64]int32, throttledAt int64, longest time.Duration) {
	t.Helper()
	root := sourcetest.CgroupTree(t, 2, 3)
	stat, err := os.OpenFile(filepath.Join(root, "group001", "cpu.stat"), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stat.Close() }()
	usage, throttled := 1_000_000_000, 100
	write := func() {
		// Of fixed length, so that one write replaces all of it.
		text := fmt.Sprintf("usage_usec %010d\nuser_usec 1\nsystem_usec 1\nnr_periods 100\nnr_throttled %d\nthrottled_usec 5\n", usage, throttled)
		if _, err := stat.WriteAt([]byte(text), 0); err != nil {
			t.Error(err)
		}
	}
	write()
	store, _, err := batch.Open(t.TempDir(), [16]byte{1}, 1, "node")
	if err != nil {
		t.Fatal(err)
	}
	store.Start(time.Now().UnixMicro() / batch.StepUS)
	var blocks []*ingestpb.SeriesBlock
	encoder := &batch.Encoder{}
	engine := sampler.New(sampler.Config{
		Roots: sampler.Roots{Cgroup: root, Proc: "/proc", Sys: "/sys"}, Store: store, Log: slog.New(slog.DiscardHandler),
		Sources: []sampler.Source{&cgroupCPU{}},
		Sealed: func(sealed *batch.Sealed) {
			encoded, _ := encoder.Encode(sealed, 1, 0)
			var decoded ingestpb.Batch
			if err := proto.Unmarshal(encoded, &decoded); err != nil {
				t.Error(err)
			}
			for _, block := range decoded.Blocks {
				if block.StepUs == batch.ZoomStepUS {
					if key := decoded.Resources[block.Resource[0]].Key; key != "/group001" {
						t.Errorf("%s was zoomed in on", key)
					}
					blocks = append(blocks, block)
				}
			}
			sealed.Release()
		},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 7500*time.Millisecond)
	defer cancel()
	finished := make(chan error)
	go func() { finished <- engine.Run(ctx) }()
	began := time.Now()
	last := began
	for ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		now := time.Now()
		longest, last = max(longest, now.Sub(last)), now
		usage += 2500 // a quarter of a CPU: half of the quota
		if throttledAt == 0 && time.Since(began) > 3500*time.Millisecond {
			throttled++
			throttledAt = time.Now().UnixMicro()
		}
		write()
	}
	if err := <-finished; err != nil {
		t.Fatal(err)
	}
	values = map[uint32]map[int64]int32{}
	for _, block := range blocks {
		unpackZoom(t, block, values)
	}
	return values, throttledAt, longest
}

// unpackZoom adds the values of a block to those by metric and number of the 10 ms tick.
func unpackZoom(t *testing.T, block *ingestpb.SeriesBlock, values map[uint32]map[int64]int32) {
	t.Helper()
	raw := block.Values
	for i, metric := range block.Metric {
		if values[metric] == nil {
			values[metric] = map[int64]int32{}
		}
		for tick := range int64(block.TickCount) {
			number := block.StartUs/batch.ZoomStepUS + tick
			if _, twice := values[metric][number]; twice {
				t.Fatalf("metric %d of tick %d comes twice (series %d)", metric, number, i)
			}
			if value := int32(binary.LittleEndian.Uint32(raw)); value != math.MinInt32 {
				values[metric][number] = value
			}
			raw = raw[4:]
		}
	}
}
