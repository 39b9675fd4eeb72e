package spool

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, directory string, maxBytes int64) *Spool {
	t.Helper()
	s, err := Open(directory, maxBytes, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func put(t *testing.T, s *Spool, sequence uint64, size int) {
	t.Helper()
	if err := s.Put(sequence, bytes.Repeat([]byte{byte(sequence)}, size)); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(sequence); err != nil {
		t.Fatal(err)
	}
}

func TestOldestFirstAndReopened(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 1<<20)
	for _, sequence := range []uint64{3, 1, 2} {
		put(t, s, sequence, 10)
	}
	put(t, s, 2, 12) // sealed again after a crash: replaced
	id := s.ID()
	if err := os.WriteFile(filepath.Join(directory, "00000000000000000009.batch.tmp"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, directory, 1<<20)
	if s.ID() != id || s.Last() != 3 {
		t.Errorf("id or last sequence changed: %d", s.Last())
	}
	if c := s.Counts(); c.Batches != 3 || c.Bytes != 32 {
		t.Errorf("counts %+v", c)
	}
	for want := uint64(1); want <= 3; want++ {
		sequence, data, ok := s.Oldest(nil)
		if !ok || sequence != want || data[0] != byte(want) {
			t.Fatalf("oldest is %d, want %d", sequence, want)
		}
		s.Remove(sequence)
	}
	if _, _, ok := s.Oldest(nil); ok {
		t.Error("the spool is not empty")
	}
}

func TestFullDropsOldestAndCounts(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 100)
	put(t, s, 1, 40)
	put(t, s, 2, 40)
	if sequence, _, _ := s.Oldest(nil); sequence != 1 {
		t.Fatal("1 is the oldest")
	}
	put(t, s, 3, 40) // 1 is being sent, so 2 goes
	sequence, _, _ := s.Oldest(nil)
	s.Remove(sequence)
	if sequence, _, _ := s.Oldest(nil); sequence != 3 {
		t.Errorf("left is %d, want 3", sequence)
	}
	s.Return()
	put(t, s, 4, 90)
	c := s.Counts()
	if c.Dropped != 2 || c.Batches != 1 || c.ResendNeeded != 2 {
		t.Errorf("counts %+v", c)
	}
	_ = s.Close()
	if c := open(t, directory, 100).Counts(); c.Dropped != 2 {
		t.Errorf("the count was lost: %+v", c)
	}
}

func TestQuarantineIsBounded(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 1<<20)
	for sequence := uint64(1); sequence <= maxQuarantine+5; sequence++ {
		put(t, s, sequence, 1)
		s.Quarantine(sequence, "refused")
	}
	files, _ := filepath.Glob(filepath.Join(directory, quarantine, "*"))
	if len(files) != 2*maxQuarantine {
		t.Errorf("%d files", len(files))
	}
	if c := s.Counts(); c.Batches != 0 || c.Bytes != 0 || c.Quarantined != maxQuarantine+5 {
		t.Errorf("counts %+v", c)
	}
}

func TestEmptyFileDoesNotBlockTheRest(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "00000000000000000001.batch"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, directory, 1<<20)
	put(t, s, 2, 5)
	if sequence, _, ok := s.Oldest(nil); !ok || sequence != 2 {
		t.Errorf("oldest is %d", sequence)
	}
}

func TestOneCollectorPerDirectory(t *testing.T) {
	directory := t.TempDir()
	open(t, directory, 1)
	if _, err := Open(directory, 1, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("two collectors share a spool")
	}
}

func TestDamagedStateStartsANewIdentity(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 1)
	id := s.ID()
	_ = s.Close()
	if err := os.WriteFile(filepath.Join(directory, "spool.json"), []byte(`{"spool_id":"zz`), 0o600); err != nil {
		t.Fatal(err)
	}
	if open(t, directory, 1).ID() == id {
		t.Error("the id cannot have been known")
	}
}
