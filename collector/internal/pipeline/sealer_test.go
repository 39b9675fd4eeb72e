package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// TestABatchIsKeptUntilTheSinkHasIt makes the sink fail once, as on a full disk, and expects the same batch again.
func TestABatchIsKeptUntilTheSinkHasIt(t *testing.T) {
	store, _, err := batch.Open(t.TempDir(), [16]byte{1}, 1, "node")
	if err != nil {
		t.Fatal(err)
	}
	const first = 17_952_560_000
	store.Start(first)
	slot := store.Series(batch.Node, 50)
	store.Begin(first)
	store.Set(slot, 5)
	store.Commit()
	var got []*ingestpb.Batch
	attempts := 0
	sink, err := Compress(func(_ uint64, data []byte) error {
		if attempts++; attempts == 1 {
			return errors.New("no space left on device")
		}
		decoder, err := zstd.NewReader(nil)
		if err != nil {
			return err
		}
		defer decoder.Close()
		raw, err := decoder.DecodeAll(data, nil)
		if err != nil {
			return err
		}
		decoded := &ingestpb.Batch{}
		got = append(got, decoded)
		return proto.Unmarshal(raw, decoded)
	})
	if err != nil {
		t.Fatal(err)
	}
	sealer := NewSealer("test", func() uint64 { return 4 }, sink, slog.New(slog.DiscardHandler))
	done := make(chan struct{})
	go func() {
		defer close(done)
		sealer.Run(context.Background())
	}()
	for tick := range int64(2) { // the second batch is empty: nothing to send
		var sealed *batch.Sealed
		for sealed == nil {
			if sealed, err = store.Rotate(first + tick + 1); err != nil {
				time.Sleep(10 * time.Millisecond) // the first is still being sealed
			}
		}
		sealer.Take(sealed)
	}
	sealer.Stop()
	<-done
	if attempts != 2 || len(got) != 1 || got[0].Sequence != 1 || got[0].DroppedBatches != 4 || len(got[0].Blocks) != 1 {
		t.Errorf("%d attempts, %v", attempts, got)
	}
	if stats := sealer.Stats(); stats.Failed.Load() != 1 || stats.Batches.Load() != 1 {
		t.Errorf("failed %d, sealed %d", stats.Failed.Load(), stats.Batches.Load())
	}
}
