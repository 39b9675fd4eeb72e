package batch

import "math"

// missing marks a tick without a value: it is NaN and never 0.
var missing = math.NaN()

// Fits tells whether tick has a column in the open batch; if not, Rotate first.
func (s *Store) Fits(tick int64) bool {
	b := s.buffers[s.current]
	if b.columns() <= Lag {
		return true // nothing on the grid yet: Begin moves it
	}
	return tick-b.header().baseTick < Columns
}

// Begin starts the row of tick. Ticks that were skipped since the last one stay missing. It returns false, and the tick is
// counted as dropped, where the tick is not later than the last one or has no column.
func (s *Store) Begin(tick int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buffers[s.current]
	if b.columns() <= Lag {
		b.header().baseTick = tick - Lag
		s.column, s.tick = Lag-1, tick-1
	}
	column := tick - b.header().baseTick
	if tick <= s.tick || column >= Columns {
		s.dropped.Ticks++
		return false
	}
	for c := s.column + 1; c <= int(column); c++ {
		b.clearRow(c, len(s.dir.slots))
	}
	s.tick, s.column = tick, int(column)
	return true
}

// Commit makes the row part of the batch.
func (s *Store) Commit() { s.buffers[s.current].setColumns(s.column + 1) }

// Set writes the value of the current tick.
func (s *Store) Set(slot Slot, value float64) {
	if slot != NoSlot {
		s.buffers[s.current].row(s.column)[slot] = value
	}
}

// SetAt writes the value of an earlier tick, 0 <= back <= Lag. It may lie in the former batch: then the value travels
// with this one, so write each tick once.
func (s *Store) SetAt(back int, slot Slot, value float64) {
	if slot == NoSlot || back < 0 || back > Lag {
		return
	}
	b := s.buffers[s.current]
	b.row(s.column - back)[slot] = value
	b.slotTable()[slot].used |= slotLagging
}

// Delta writes by how much counter grew since it was last read. The first reading and a reading below the last one (the
// counter was reset) leave the tick missing. After missed ticks the whole growth is written to the tick that saw it:
// nothing is invented for the missing ones and sums stay exact.
func (s *Store) Delta(slot Slot, counter uint64) {
	if slot == NoSlot {
		return
	}
	if s.seen[slot] && counter >= s.previous[slot] {
		s.buffers[s.current].row(s.column)[slot] = float64(counter - s.previous[slot])
	}
	s.previous[slot], s.seen[slot] = counter, true
}

// BeginAtZero makes the next Delta of slot count from 0. Call it before the slot is sampled.
func (s *Store) BeginAtZero(slot Slot) {
	if slot != NoSlot {
		s.previous[slot], s.seen[slot] = 0, true
	}
}

// Value returns what the current tick holds for slot, NaN where nothing was written.
func (s *Store) Value(slot Slot) float64 {
	if slot == NoSlot {
		return missing
	}
	return s.buffers[s.current].row(s.column)[slot]
}

// Fill tells how full the open batch is: ticks written, and the used share of the journal.
func (s *Store) Fill() (ticks int, journal float64) {
	b := s.buffers[s.current]
	return b.columns() - Lag, float64(b.journalLen()) / JournalBytes
}
