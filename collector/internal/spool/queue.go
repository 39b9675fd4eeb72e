package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Put stores a sealed batch, dropping the oldest ones if there is no room. Putting a sequence again replaces it. The
// caller can send it right away; call Sync before releasing the only other copy.
//
// A batch that does not fit on the disk is kept in memory until it is sent or the disk has room: sampling and sending
// continue meanwhile. If these take too much memory, the oldest are dropped and counted.
func (s *Spool) Put(sequence uint64, data []byte) error {
	s.makeRoom(int64(len(data)))
	batch := entry{sequence: sequence, size: int64(len(data))}
	if err := writeFile(s.file(sequence), data, false); err != nil {
		batch.data = slices.Clone(data)
		s.fail(err)
	}
	s.mu.Lock()
	if at := s.find(sequence); at >= 0 {
		s.bytes -= s.batches[at].size
		s.held -= int64(len(s.batches[at].data))
		s.batches[at] = batch
	} else {
		s.batches = append(s.batches, batch)
		slices.SortFunc(s.batches, func(a, b entry) int { return int(int64(a.sequence - b.sequence)) })
	}
	s.bytes += batch.size
	s.held += int64(len(batch.data))
	s.mu.Unlock()
	s.signal()
	if batch.data == nil {
		s.recover()
	} else {
		s.shed()
	}
	return nil
}

// fail records that a batch could not be written, and logs that once.
func (s *Spool) fail(err error) {
	s.mu.Lock()
	s.counts.WriteFailed++
	first := s.trouble == ""
	// Without the name of the file, which differs for each batch: a reason is logged once.
	cause := err
	var at *fs.PathError
	if errors.As(err, &at) {
		cause = at.Err
	}
	s.trouble = s.directory + ": " + cause.Error()
	s.mu.Unlock()
	if first {
		s.log.Error("cannot write the spool: batches are kept in memory, and the oldest are dropped above a limit",
			"error", err, "directory", s.directory, "limit_bytes", maxMemory)
	}
}

// recover writes batches in memory to the disk, as far as there is room.
func (s *Spool) recover() {
	s.mu.Lock()
	if s.trouble == "" {
		s.mu.Unlock()
		return
	}
	var waiting []entry
	for _, batch := range s.batches {
		if batch.data != nil {
			waiting = append(waiting, batch)
		}
	}
	s.mu.Unlock()
	for _, batch := range waiting {
		if err := writeFile(s.file(batch.sequence), batch.data, false); err != nil {
			return
		}
		s.mu.Lock()
		if at := s.find(batch.sequence); at >= 0 {
			s.held -= int64(len(s.batches[at].data))
			s.batches[at].data = nil
			s.mu.Unlock()
		} else { // sent in the meantime
			s.mu.Unlock()
			_ = os.Remove(s.file(batch.sequence))
		}
	}
	s.mu.Lock()
	s.trouble = ""
	s.mu.Unlock()
	s.log.Info("the spool is writable again", "written_batches", len(waiting))
}

// shed drops the oldest batches in memory if they take too much of it.
func (s *Spool) shed() {
	s.mu.Lock()
	var dropped uint64
	s.batches = slices.DeleteFunc(s.batches, func(batch entry) bool {
		if s.held <= maxMemory || batch.data == nil || batch.sequence == s.taken {
			return false
		}
		s.held -= batch.size
		s.bytes -= batch.size
		dropped++
		return true
	})
	s.state.Dropped += dropped
	if dropped > 0 {
		s.counts.ResendNeeded++
	}
	s.mu.Unlock()
	if dropped > 0 {
		s.log.Warn("cannot write the spool, dropped the oldest batches in memory", "dropped", dropped, "limit_bytes", maxMemory)
	}
}

// Sync makes a batch survive a power failure, unless it was sent in the meantime.
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
// Quarantine or Return. ok is false if the spool is empty.
func (s *Spool) Oldest(buffer []byte) (sequence uint64, data []byte, ok bool) {
	return s.take(0, buffer)
}

// Second is Oldest for the batch after the oldest one.
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
		if batch.data != nil {
			return batch.sequence, append(buffer[:0], batch.data...), true
		}
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

// Return releases the reservation; the batch stays.
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

// Quarantine sets aside a batch that the backend will never accept, for inspection.
func (s *Spool) Quarantine(sequence uint64, why string) {
	s.forget(sequence)
	s.mu.Lock()
	s.state.Refused++
	s.counts.ResendNeeded++
	if err := s.saveState(); err != nil {
		s.log.Error("cannot save the count of rejected batches", "error", err)
	}
	s.mu.Unlock()
	target := s.path(fmt.Sprintf("%s/%020d%s", quarantine, sequence, suffix))
	if err := os.Rename(s.file(sequence), target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("cannot quarantine a rejected batch", "sequence", sequence, "error", err)
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
		s.held -= int64(len(s.batches[at].data))
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
