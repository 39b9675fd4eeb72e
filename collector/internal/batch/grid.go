package batch

import "math"

// missing marks a tick without a value: it is NaN and never 0.
var missing = math.NaN()

// Fits reports whether tick has a column in the open batch; if not, call Rotate first.
func (s *Store) Fits(tick int64) bool {
	b := s.buffers[s.current]
	if b.columns() <= Lag {
		return true // nothing on the grid yet: Begin moves it
	}
	return tick-b.header().baseTick < Columns
}

// Begin starts tick. Ticks skipped since the last one stay missing. It returns false, and counts the tick as dropped,
// if the tick is not later than the last one or has no column. Normally Begin, Set, SetAt and Delta neither wait for
// the lock nor touch the mapped file, so sampling stays on time.
func (s *Store) Begin(tick int64) bool {
	b := s.buffers[s.current]
	if b.columns() > Lag && (tick <= s.tick || tick-b.header().baseTick >= Columns) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dropped.Ticks++
		return false
	}
	s.tick = tick
	return true
}

// Commit makes the tick's values a row of the batch.
func (s *Store) Commit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buffers[s.current]
	if b.columns() <= Lag {
		b.header().baseTick = s.tick - Lag
	}
	column, slots := int(s.tick-b.header().baseTick), len(s.dir.slots)
	for skipped := s.column + 1; skipped < column; skipped++ {
		b.clearRow(skipped, slots)
	}
	copy(b.row(column), s.staged[:slots])
	for _, late := range s.late {
		b.row(column - late.back)[late.slot] = late.value
		b.slotTable()[late.slot].used |= slotLagging
	}
	s.column = column
	b.setColumns(column + 1)
	s.late = s.late[:0]
	s.writeDistributions()
	forget(s.staged[:slots])
}

// Set writes the value of the current tick.
func (s *Store) Set(slot Slot, value float64) {
	if slot != NoSlot {
		s.staged[slot] = value
	}
}

// lateValue is a value of an earlier tick.
type lateValue struct {
	slot  Slot
	back  int
	value float64
}

// SetAt writes the value of an earlier tick, 0 <= back <= Lag. The tick can lie in the previous batch: then the value
// travels with this one, so write each tick once.
func (s *Store) SetAt(back int, slot Slot, value float64) {
	if slot == NoSlot || back < 0 || back > Lag {
		return
	}
	s.late = append(s.late, lateValue{slot, back, value})
}

// Delta writes how much counter grew since it was last read. The first reading and a reading below the last one (the
// counter was reset) leave the tick missing. After missed ticks the whole growth is written to the tick that saw it:
// nothing is invented for the missing ones, and sums stay exact.
func (s *Store) Delta(slot Slot, counter uint64) {
	if slot == NoSlot {
		return
	}
	if s.seen[slot] && counter >= s.previous[slot] {
		s.staged[slot] = float64(counter - s.previous[slot])
	}
	s.previous[slot], s.seen[slot] = counter, true
}

// BeginAtZero makes the next Delta of slot count from 0. Call it before the slot is sampled.
func (s *Store) BeginAtZero(slot Slot) {
	if slot != NoSlot {
		s.previous[slot], s.seen[slot] = 0, true
	}
}

// Value returns what Set or Delta wrote for the current tick, NaN if nothing was written.
func (s *Store) Value(slot Slot) float64 {
	if slot == NoSlot {
		return missing
	}
	return s.staged[slot]
}

// Fill returns how full the open batch is: ticks written, and the used share of the journal.
func (s *Store) Fill() (ticks int, journal float64) {
	b := s.buffers[s.current]
	return b.columns() - Lag, float64(b.journalLen()) / JournalBytes
}
