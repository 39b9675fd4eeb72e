package batch

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
)

// Store is the open batch and its directory. Grid values are written by one goroutine, the sampling thread (Begin, Set,
// Delta, Commit, Rotate); everything else may be called by any goroutine.
type Store struct {
	mu      priority.Mutex // directory, journal, rotation
	dir     *directory
	buffers [2]*buffer
	written [2]uint64 // directory version that each buffer holds
	current int
	spoolID [16]byte
	next    uint64 // sequence of the next buffer to open
	rotated bool   // both buffers belong to this run

	triggered bool // a trigger was recorded since TakeTriggered
	listeners []func(resource ResourceID, reason string, atUS int64)

	// Sampling thread only.
	tick   int64     // number of the tick being written, or of the last one
	column int       // of the last committed tick
	staged []float64 // values of the tick being written: writing to the mapped file can wait for the disk
	late   []lateValue
	// Records of the tick being written, as in the journal.
	distributions []byte
	previous      []uint64 // last value of each counter slot
	seen          []bool

	dropped Dropped
}

// Dropped counts what did not fit since the collector started.
type Dropped struct {
	Resources uint64 // not recorded: the directory is full
	Series    uint64
	Records   uint64 // events, facts, queries, distributions: the journal was full
	Ticks     uint64 // no column was free because sealing did not keep up
}

// ErrFull is returned by Rotate while the other buffer is still being sealed.
var ErrFull = errors.New("the previous batch is still being sealed")

// Open maps the two buffers in directory and returns what an earlier run left unsealed, oldest first. nextSequence is
// one more than the highest sequence known to the spool; the buffers' own can be higher. machineID is the key of the
// node.
func Open(directoryPath string, spoolID [16]byte, nextSequence uint64, machineID string) (*Store, []*Sealed, error) {
	s := &Store{
		dir: newDirectory(), spoolID: spoolID, next: nextSequence,
		staged: make([]float64, MaxSlots), late: make([]lateValue, 0, 4096), distributions: make([]byte, 0, 64<<10),
		previous: make([]uint64, MaxSlots), seen: make([]bool, MaxSlots),
	}
	var leftovers []*Sealed
	for i, name := range []string{"open-a.batch", "open-b.batch"} {
		b, leftover, err := openBuffer(filepath.Join(directoryPath, name))
		if err != nil {
			return nil, nil, err
		}
		s.buffers[i] = b
		if leftover {
			leftovers = append(leftovers, &b.sealed)
		}
	}
	if len(leftovers) == 2 && leftovers[0].Sequence() > leftovers[1].Sequence() {
		leftovers[0], leftovers[1] = leftovers[1], leftovers[0]
	}
	if id, _, ok := s.dir.addResource(uint8(ingestpb.ResourceKind_RESOURCE_KIND_NODE), machineID, Node); !ok || id != Node {
		return nil, nil, fmt.Errorf("open batch: no room for the node")
	}
	return s, leftovers, nil
}

// StayOrdinary keeps threads that write to the store from taking real-time priority. Call it before anything else.
func (s *Store) StayOrdinary() { s.mu.Ordinary = true }

// Start opens the first buffer. Leftovers must have been sealed and released before. firstTick is the number
// (StartUS/StepUS) of the first tick that will be written.
func (s *Store) Start(firstTick int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.buffers {
		if h := b.header(); h.spoolID == s.spoolID && h.sequence >= s.next {
			s.next = h.sequence + 1
		}
	}
	s.open(0, firstTick)
}

// open makes buffer i the current one. Called with mu held.
func (s *Store) open(i int, firstTick int64) {
	b := s.buffers[i]
	if s.written[i] != s.dir.version {
		s.dir.writeTo(b)
		s.written[i] = s.dir.version
	}
	b.start(s.spoolID, s.next, firstTick-Lag)
	s.next++
	s.current = i
	s.tick, s.column = firstTick-1, Lag-1
	for column := range Lag {
		b.clearRow(column, len(s.dir.slots))
	}
	b.setColumns(Lag)
}

// Rotate closes the current buffer and opens the other one, whose first tick is firstTick. The caller seals and
// releases the returned batch.
func (s *Store) Rotate(firstTick int64) (*Sealed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, other := s.buffers[s.current], 1-s.current
	if s.buffers[other].state() != stateEmpty {
		return nil, ErrFull
	}
	s.writeDistributions()
	s.dir.rotate()
	s.rotated = true
	old.setState(stateSealing)
	s.open(other, firstTick)
	return &old.sealed, nil
}

// Resource returns the resource with kind and key, creating it if it is new.
func (s *Store) Resource(kind ingestpb.ResourceKind, key string, parent ResourceID) ResourceID {
	s.mu.Lock()
	defer s.mu.Unlock()
	key = clean(key, len(key))
	if key == "" || len(key) > MaxKeyBytes || parent == NoResource {
		s.dropped.Resources++
		return NoResource
	}
	id, added, ok := s.dir.addResource(uint8(kind), key, parent)
	if !ok {
		s.dropped.Resources++
		return NoResource
	}
	if added {
		b := s.buffers[s.current]
		b.putResource(id, s.dir.resources[id])
		b.header().resources = uint32(len(s.dir.resources))
		s.written[s.current] = s.dir.version
	}
	return id
}

// Remove releases a resource and its series, which must not be sampled any more. What was already recorded is still
// sent.
func (s *Store) Remove(id ResourceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slot := range s.dir.release(id) {
		s.seen[slot] = false
	}
}

// Series returns the slot of a series, creating it if it is new. Its past ticks are missing.
func (s *Store) Series(resource ResourceID, metric uint32) Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if resource == NoResource {
		s.dropped.Series++
		return NoSlot
	}
	slot, added, ok := s.dir.addSlot(resource, uint16(metric))
	if !ok {
		s.dropped.Series++
		return NoSlot
	}
	if added {
		b := s.buffers[s.current]
		for column := range s.column + 1 {
			b.row(column)[slot] = missing
		}
		s.staged[slot] = missing
		b.slotTable()[slot] = s.dir.slots[slot]
		b.header().slots = uint32(len(s.dir.slots))
		s.written[s.current] = s.dir.version
		s.seen[slot] = false
	}
	return slot
}

// TakeTriggered reports whether a trigger was recorded since the last call.
func (s *Store) TakeTriggered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	triggered := s.triggered
	s.triggered = false
	return triggered
}

// NoRoom returns why the open batches are not on disk but only in memory, where a crash loses them; nil if they are on
// disk.
func (s *Store) NoRoom() error { return errors.Join(s.buffers[0].noRoom, s.buffers[1].noRoom) }

// Dropped returns what has not fit so far.
func (s *Store) Dropped() Dropped {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close unmaps the buffers. An open batch stays in the files for the next run, unless nothing was recorded in it.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, last := s.buffers[s.current], s.buffers[1-s.current].header()
	// The last batch was empty too and was discarded, because the run stopped right after another one.
	if s.rotated && b.state() == stateOpen && last.sequence+2 == b.header().sequence {
		b.header().sequence--
	}
	if b.state() == stateOpen && b.columns() <= Lag && b.journalLen() == 0 {
		b.sealed.Discard()
	}
	return errors.Join(s.buffers[0].close(), s.buffers[1].close())
}
