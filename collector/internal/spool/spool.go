// Package spool keeps sealed batches on disk until the backend has acknowledged them. The space is bounded: the oldest
// batches are dropped first, and counted.
package spool

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Spool is a directory of batches, one file each, named by sequence. A file appears by rename, so it is whole or absent
// unless the power fails before Sync.
type Spool struct {
	directory string
	maxBytes  int64
	log       *slog.Logger
	lock      *os.File
	state     state
	arrived   chan struct{}

	mu      sync.Mutex
	batches []entry // by sequence
	bytes   int64
	held    int64  // bytes of batches in memory, part of bytes
	trouble string // why batches cannot be written to disk
	taken   uint64 // sequence being sent: it must not be dropped
	counts  Counts
}

type entry struct {
	sequence uint64
	size     int64
	data     []byte // if the disk had no room; nil: in its file
}

// state is spool.json. The id and the count live as long as the directory.
type state struct {
	ID      string `json:"spool_id"`
	Dropped uint64 `json:"dropped_batches"`
	Refused uint64 `json:"refused_batches"`
}

// Counts are the contents and losses of a spool.
type Counts struct {
	Batches      int
	Bytes        int64
	InMemory     int    // of Batches, those that do not fit on the disk
	Dropped      uint64 // since the spool was created
	Quarantined  uint64 // since the spool was created
	WriteFailed  uint64
	ResendNeeded uint64 // grows with each loss
}

const (
	suffix        = ".batch"
	quarantine    = "quarantine"
	maxQuarantine = 64 // files; older ones are removed
	maxMemory     = 16 << 20
)

// Open opens or creates the spool in directory. Only one process at a time can use it.
func Open(directory string, maxBytes int64, log *slog.Logger) (*Spool, error) {
	s := &Spool{directory: directory, maxBytes: maxBytes, log: log, arrived: make(chan struct{}, 1)}
	if err := os.MkdirAll(filepath.Join(directory, quarantine), 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	if err := s.acquire(); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Spool) acquire() error {
	lock, err := os.OpenFile(filepath.Join(s.directory, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		return fmt.Errorf("spool: another collector uses %s; give each its own --spool-dir", s.directory)
	}
	s.lock = lock
	return nil
}

func (s *Spool) load() error {
	raw, err := os.ReadFile(s.path("spool.json"))
	if err == nil {
		err = json.Unmarshal(raw, &s.state)
	}
	if id, bad := hex.DecodeString(s.state.ID); err != nil || bad != nil || len(id) != 16 {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("spool.json is damaged; the spool starts a new identity", "error", err)
		}
		var fresh [16]byte
		if _, err := rand.Read(fresh[:]); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		s.state = state{ID: hex.EncodeToString(fresh[:])}
		if err := s.saveState(); err != nil {
			return err
		}
	}
	files, err := os.ReadDir(s.directory)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), ".tmp") {
			_ = os.Remove(s.path(file.Name()))
		}
		number, isBatch := strings.CutSuffix(file.Name(), suffix)
		sequence, err := strconv.ParseUint(number, 10, 64)
		if !isBatch || err != nil {
			continue
		}
		if info, err := file.Info(); err == nil {
			s.batches = append(s.batches, entry{sequence: sequence, size: info.Size()})
			s.bytes += info.Size()
		}
	}
	slices.SortFunc(s.batches, func(a, b entry) int { return int(int64(a.sequence - b.sequence)) })
	if len(s.batches) > 0 {
		s.signal()
	}
	return nil
}

// ID identifies the spool permanently.
func (s *Spool) ID() (id [16]byte) {
	raw, _ := hex.DecodeString(s.state.ID) // checked by load
	copy(id[:], raw)
	return id
}

// Last is the highest sequence on disk, 0 for none.
func (s *Spool) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.batches) == 0 {
		return 0
	}
	return s.batches[len(s.batches)-1].sequence
}

// Counts returns the contents and losses.
func (s *Spool) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.counts
	counts.Batches, counts.Bytes = len(s.batches), s.bytes
	counts.Dropped, counts.Quarantined = s.state.Dropped, s.state.Refused
	for _, batch := range s.batches {
		if batch.data != nil {
			counts.InMemory++
		}
	}
	return counts
}

// Trouble returns why batches cannot be written to disk; empty if they can.
func (s *Spool) Trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

// Arrived receives after a batch was put.
func (s *Spool) Arrived() <-chan struct{} { return s.arrived }

func (s *Spool) signal() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// Close releases the directory.
func (s *Spool) Close() error { return s.lock.Close() }

func (s *Spool) path(name string) string { return filepath.Join(s.directory, name) }

func (s *Spool) file(sequence uint64) string { return s.path(fmt.Sprintf("%020d%s", sequence, suffix)) }

func (s *Spool) saveState() error {
	raw, err := json.Marshal(s.state)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := writeFile(s.path("spool.json"), raw, true); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// writeFile replaces path in one step.
func writeFile(path string, data []byte, sync bool) error {
	temporary := path + ".tmp"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil && sync {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}
