// Package pipeline compresses sealed batches and passes them to a sink.
package pipeline

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
)

// Sink takes an encoded batch. data is valid during the call. Once it returns nil, the batch is no longer kept here.
type Sink func(sequence uint64, data []byte) error

// Sealer encodes batches one after another, off the sampling thread.
type Sealer struct {
	encoder batch.Encoder
	dropped func() uint64
	sink    Sink
	log     *slog.Logger
	queue   chan *batch.Sealed
	stats   Stats
}

// Stats count what the Sealer has done.
type Stats struct {
	Batches, Bytes, Failed atomic.Uint64
	LastBytes              atomic.Int64
}

const retryEvery = time.Second

// NewSealer creates a Sealer. dropped returns the count of batches that the spool has lost so far.
func NewSealer(version string, dropped func() uint64, sink Sink, log *slog.Logger) *Sealer {
	return &Sealer{
		encoder: batch.Encoder{Version: version}, dropped: dropped, sink: sink, log: log,
		queue: make(chan *batch.Sealed, 2), // there are two buffers: it never blocks
	}
}

// Stats returns the counters.
func (s *Sealer) Stats() *Stats { return &s.stats }

// Take queues a batch.
func (s *Sealer) Take(sealed *batch.Sealed) { s.queue <- sealed }

// Stop ends Run after the queued batches.
func (s *Sealer) Stop() { close(s.queue) }

// Run encodes until Stop. If the sink fails (the disk is full), it retries until it succeeds or ctx ends; the batch
// stays in its mapped file meanwhile.
func (s *Sealer) Run(ctx context.Context) {
	for sealed := range s.queue {
		s.One(ctx, sealed)
	}
}

// One encodes one batch and releases its buffer.
func (s *Sealer) One(ctx context.Context, sealed *batch.Sealed) {
	encoded, empty := s.encoder.Encode(sealed, time.Now().UnixMicro(), s.dropped())
	if empty {
		sealed.Discard()
		return
	}
	for {
		err := s.sink(sealed.Sequence(), encoded)
		if err == nil {
			s.stats.Batches.Add(1)
			s.stats.Bytes.Add(uint64(len(encoded)))
			s.stats.LastBytes.Store(int64(len(encoded)))
			sealed.Release()
			return
		}
		s.stats.Failed.Add(1)
		s.log.Error("cannot store a batch, retrying", "sequence", sealed.Sequence(), "error", err)
		select {
		case <-ctx.Done():
			return // it stays in its file for the next run
		case <-time.After(retryEvery):
		}
	}
}

// Compress wraps a sink that expects zstd frames.
func Compress(sink Sink) (Sink, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(128<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	var compressed []byte
	return func(sequence uint64, data []byte) error {
		compressed = encoder.EncodeAll(data, compressed[:0])
		return sink(sequence, compressed)
	}, nil
}
