package livetest

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/pipeline"
	"github.com/jitterscope/jitterscope/collector/internal/spool"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// disk mounts a small file system.
func disk(t *testing.T, size string) string {
	t.Helper()
	directory := t.TempDir()
	if err := unix.Mount("tmpfs", directory, "tmpfs", 0, "size="+size); err != nil {
		if errors.Is(err, unix.EPERM) {
			testenv.Skip(t, "mounting needs root: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
	return directory
}

// full writes a file until the disk is full; removing the file empties it.
func full(t *testing.T, directory string) string {
	t.Helper()
	path := filepath.Join(directory, "filler")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for block := make([]byte, 1<<16); len(block) > 0; {
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	return path
}

// sampled writes ticks of one series as the sampling thread does, and seals the batch.
func sampled(t *testing.T, store *batch.Store, sealer *pipeline.Sealer, slot batch.Slot, first int64) {
	t.Helper()
	for tick := first; tick < first+20; tick++ {
		store.Begin(tick)
		store.Set(slot, float64(tick))
		store.Commit()
	}
	for range 500 {
		sealed, err := store.Rotate(first + 20)
		if err == nil {
			sealer.Take(sealed)
			return
		}
		time.Sleep(10 * time.Millisecond) // the other one is still being sealed
	}
	t.Fatal("sealing stopped")
}

// TestAFullDiskTakesNothingAndEndsNothing fills the disk of the spool while the collector runs, and empties it again.
func TestAFullDiskTakesNothingAndEndsNothing(t *testing.T) {
	directory := disk(t, "80m")
	spooled, err := spool.Open(directory, 64<<20, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = spooled.Close() }()
	store, _, err := batch.Open(directory, spooled.ID(), 1, "node")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.NoRoom(); err != nil {
		t.Fatalf("80 MiB hold two open batches: %v", err)
	}
	sealer := pipeline.NewSealer("test", func() uint64 { return spooled.Counts().Dropped }, func(sequence uint64, data []byte) error {
		return errors.Join(spooled.Put(sequence, data), spooled.Sync(sequence))
	}, slog.New(slog.DiscardHandler))
	go sealer.Run(t.Context())
	defer sealer.Stop()
	const first = 17_952_560_000
	store.Start(first)
	slot := store.Series(batch.Node, 50)

	filler := full(t, directory)
	for number := range int64(5) { // every page of both open batches is written on a full disk
		sampled(t, store, sealer, slot, first+20*number)
	}
	eventually(t, func() bool { return spooled.Counts().Batches == 5 })
	counts := spooled.Counts()
	if counts.InMemory == 0 || counts.Dropped != 0 || spooled.Trouble() == "" {
		t.Errorf("on a full disk: %+v, trouble %q", counts, spooled.Trouble())
	}
	if sequence, data, ok := spooled.Oldest(nil); !ok || sequence != 1 || len(data) == 0 {
		t.Errorf("the oldest batch cannot be sent: %d, %d bytes", sequence, len(data))
	}
	spooled.Return()

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	sampled(t, store, sealer, slot, first+100)
	eventually(t, func() bool { return spooled.Counts().Batches == 6 && spooled.Trouble() == "" })
	if counts := spooled.Counts(); counts.InMemory != 0 || counts.Dropped != 0 {
		t.Errorf("after it was emptied: %+v", counts)
	}
	if files, _ := filepath.Glob(filepath.Join(directory, "0*.batch")); len(files) != 6 {
		t.Errorf("%d files", len(files))
	}
	if dropped := store.Dropped(); dropped != (batch.Dropped{}) {
		t.Errorf("ticks were lost: %+v", dropped)
	}
}

// TestADiskWithoutRoomFromTheStart makes the collector sample into memory.
func TestADiskWithoutRoomFromTheStart(t *testing.T) {
	directory := disk(t, "20m")
	store, _, err := batch.Open(directory, [16]byte{1}, 1, "node")
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(store.NoRoom(), unix.ENOSPC) {
		t.Fatalf("no room: %v", store.NoRoom())
	}
	var sequences []uint64
	done := make(chan struct{})
	sealer := pipeline.NewSealer("test", func() uint64 { return 0 }, func(sequence uint64, _ []byte) error {
		sequences = append(sequences, sequence)
		return nil
	}, slog.New(slog.DiscardHandler))
	go func() { defer close(done); sealer.Run(t.Context()) }()
	const first = 17_952_560_000
	store.Start(first)
	slot := store.Series(batch.Node, 50)
	for number := range int64(4) {
		sampled(t, store, sealer, slot, first+20*number)
	}
	sealer.Stop()
	<-done
	if len(sequences) != 4 {
		t.Errorf("sealed %v", sequences)
	}
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for range 1000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("it did not come to that")
}
