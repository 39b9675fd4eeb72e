package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Put stores a sealed batch, dropping the oldest ones where there is no room. Putting a sequence again replaces it.
// The caller may send it right away; call Sync before giving up the only other copy.
func (s *Spool) Put(sequence uint64, data []byte) error {
	s.makeRoom(int64(len(data)))
	if err := writeFile(s.file(sequence), data, false); err != nil {
		s.mu.Lock()
		s.counts.WriteFailed++
		s.mu.Unlock()
		return fmt.Errorf("spool: batch %d: %w", sequence, err)
	}
	s.mu.Lock()
	if at := s.find(sequence); at >= 0 {
		s.bytes += int64(len(data)) - s.batches[at].size
		s.batches[at].size = int64(len(data))
	} else {
		s.batches = append(s.batches, entry{sequence, int64(len(data))})
		slices.SortFunc(s.batches, func(a, b entry) int { return int(int64(a.sequence - b.sequence)) })
		s.bytes += int64(len(data))
	}
	s.mu.Unlock()
	s.signal()
	return nil
}

// Sync makes a batch survive a power failure, unless it was sent meanwhile.
func (s *Spool) Sync(sequence uint64) error {
	file, err := os.Open(s.file(sequence))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return errors.Join(file.Sync(), file.Close())
}

// Oldest reads the oldest batch into buffer (which grows as needed) and reserves it: it is not dropped until Remove,
// Quarantine or Return. ok is false where the spool is empty.
func (s *Spool) Oldest(buffer []byte) (sequence uint64, data []byte, ok bool) {
	return s.take(0, buffer)
}

// Second is Oldest for the batch behind the oldest one.
func (s *Spool) Second(buffer []byte) (sequence uint64, data []byte, ok bool) {
	return s.take(1, buffer)
}

func (s *Spool) take(place int, buffer []byte) (sequence uint64, data []byte, ok bool) {
	for {
		s.mu.Lock()
		if len(s.batches) <= place {
			s.mu.Unlock()
			return 0, buffer[:0], false
		}
		batch := s.batches[place]
		s.taken = batch.sequence
		s.mu.Unlock()
		data, err := readInto(s.file(batch.sequence), buffer)
		if err == nil && len(data) > 0 {
			return batch.sequence, data, true
		}
		s.log.Error("a spooled batch cannot be read", "sequence", batch.sequence, "error", err)
		s.Quarantine(batch.sequence, "unreadable or empty file")
	}
}

func readInto(path string, buffer []byte) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	buffer = slices.Grow(buffer[:0], int(info.Size()))[:info.Size()]
	if _, err := file.ReadAt(buffer, 0); err != nil {
		return nil, err
	}
	return buffer, nil
}

// Return gives the reservation up; the batch stays.
func (s *Spool) Return() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = 0
}

// Remove deletes an acknowledged batch.
func (s *Spool) Remove(sequence uint64) {
	s.forget(sequence)
	if err := os.Remove(s.file(sequence)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("an acknowledged batch cannot be removed", "sequence", sequence, "error", err)
	}
}

// Quarantine sets a batch aside that the backend will never take, for somebody to look at.
func (s *Spool) Quarantine(sequence uint64, why string) {
	s.forget(sequence)
	s.mu.Lock()
	s.counts.Quarantined++
	s.counts.ResendNeeded++
	s.mu.Unlock()
	target := s.path(fmt.Sprintf("%s/%020d%s", quarantine, sequence, suffix))
	if err := os.Rename(s.file(sequence), target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("a refused batch cannot be set aside", "sequence", sequence, "error", err)
		_ = os.Remove(s.file(sequence))
	}
	_ = os.WriteFile(target+".reason", []byte(why+"\n"), 0o600)
	s.trimQuarantine()
}

func (s *Spool) trimQuarantine() {
	files, err := os.ReadDir(s.path(quarantine)) // sorted by name, so by age
	if err != nil {
		return
	}
	files = slices.DeleteFunc(files, func(f fs.DirEntry) bool { return !strings.HasSuffix(f.Name(), suffix) })
	for _, file := range files[:max(0, len(files)-maxQuarantine)] {
		_ = os.Remove(s.path(quarantine + "/" + file.Name()))
		_ = os.Remove(s.path(quarantine + "/" + file.Name() + ".reason"))
	}
}

func (s *Spool) forget(sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.find(sequence); at >= 0 {
		s.bytes -= s.batches[at].size
		s.batches = slices.Delete(s.batches, at, at+1)
	}
	if s.taken == sequence {
		s.taken = 0
	}
}

func (s *Spool) find(sequence uint64) int {
	return slices.IndexFunc(s.batches, func(e entry) bool { return e.sequence == sequence })
}

// makeRoom drops the oldest batches until size fits.
func (s *Spool) makeRoom(size int64) {
	s.mu.Lock()
	var drop []uint64
	bytes := s.bytes
	for _, batch := range s.batches {
		if bytes+size <= s.maxBytes {
			break
		}
		if batch.sequence != s.taken {
			drop = append(drop, batch.sequence)
			bytes -= batch.size
		}
	}
	s.state.Dropped += uint64(len(drop))
	if len(drop) > 0 {
		s.counts.ResendNeeded++
	}
	s.mu.Unlock()
	if len(drop) == 0 {
		return
	}
	for _, sequence := range drop {
		s.Remove(sequence)
	}
	if err := s.saveState(); err != nil {
		s.log.Error("the count of dropped batches cannot be saved", "error", err)
	}
	s.log.Warn("the spool is full: oldest batches dropped", "dropped", len(drop), "max_bytes", s.maxBytes)
}
