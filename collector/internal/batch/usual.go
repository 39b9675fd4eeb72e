package batch

import "slices"

// rememberTicks is how long a series keeps its place in the blocks after the last batch that needed it there: 5 min.
const rememberTicks = 3000

// usual is what a series had in earlier batches. The server stores which series a block has, and in which order, once
// for all blocks that agree; if each batch left out what was not sampled in it, and chose the narrowest encoding again,
// hardly any two would.
type usual struct {
	series   slotEntry // a slot's number can be used again for another series
	encoding uint8     // widest one needed
	neededAt int64     // base tick of the last batch that needed it
	seenAt   int64     // base tick of the last batch with a value
	lags     bool      // its last ticks can come with the next batch: none may be called missing
}

// likeBefore gives each series the encoding that it had before, if that is wider, and all missing ticks to those that
// have no value in this batch but had one before. A resource without any value is left out: it may be gone.
func (e *Encoder) likeBefore() {
	now, table := e.b.header().baseTick, e.b.slotTable()
	for len(e.usual) < len(e.spans) {
		e.usual = append(e.usual, usual{})
	}
	e.alive = slices.Grow(e.alive[:0], MaxResources)[:MaxResources]
	clear(e.alive)
	for slot := range e.spans {
		if s, id := &e.spans[slot], table[slot].resource; s.first >= 0 && id < MaxResources {
			e.alive[id] = true
		}
	}
	for slot := range e.spans {
		s, before := &e.spans[slot], &e.usual[slot]
		series := slotEntry{resource: table[slot].resource, metric: table[slot].metric}
		if table[slot].used == 0 || series.resource >= MaxResources {
			continue
		}
		if before.series != series {
			*before = usual{series: series, encoding: encodingI16}
		}
		before.lags = before.lags || table[slot].used&slotLagging != 0
		if s.first >= 0 {
			before.seenAt = now
		} else if before.lags || !e.alive[series.resource] || before.seenAt == 0 || now-before.seenAt > rememberTicks {
			continue
		} else {
			s.first = Lag // collectSeries pads it to the whole batch
		}
		if s.encoding <= before.encoding || now-before.neededAt > rememberTicks {
			before.encoding, before.neededAt = s.encoding, now
		}
		s.encoding = before.encoding
	}
}
