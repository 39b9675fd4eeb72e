// Package gcspans places GC cycles with known begin and end times on the grid of ticks.
package gcspans

// most is how many moments between two ticks are placed exactly; for a program with a GC cycle more often than every 2
// ms the count is right, and the time is that of the tick.
const most = 128

type moment struct {
	us    int64
	ends  bool
	brief bool // ends, and is no cycle
}

// Timeline follows the GC cycles of one process, of which one runs at a time. It does not allocate.
type Timeline struct {
	pending     [most]moment // in the order of time
	length      int
	begun       int64 // of the running cycle, 0: none
	countedFrom int64 // earlier time is in an earlier tick
	loose       int   // cycles whose time is not known
	looseUS     int64
}

// Begin records that a GC cycle began at a time in microseconds.
func (t *Timeline) Begin(us int64) { t.add(moment{us: us}) }

// End records that the running GC cycle ended.
func (t *Timeline) End(us int64) { t.add(moment{us: us, ends: true}) }

// Brief records that what runs ended, and that it is no cycle: a step of one. There can be very many. Of one that began
// after the last tick, only the time is kept.
func (t *Timeline) Brief(us int64) {
	if t.length > 0 && !t.pending[t.length-1].ends {
		t.length--
		t.Loose(0, us-t.pending[t.length].us)
		return
	}
	t.add(moment{us: us, ends: true, brief: true})
}

// Loose adds count GC cycles that took us in total, somewhere in the running tick.
func (t *Timeline) Loose(count int, us int64) {
	t.loose += count
	t.looseUS += max(us, 0)
}

func (t *Timeline) add(m moment) {
	if t.length < most {
		t.pending[t.length] = m
		t.length++
		return
	}
	if m.ends && !m.brief {
		t.Loose(1, 0)
	}
}

// Closed is the end of the last tick.
func (t *Timeline) Closed() int64 { return t.countedFrom }

// Tick closes a tick of stepUS that ends at endUS: the cycles that ended in it, and the time in it during which one
// ran, whether it ended or not.
func (t *Timeline) Tick(endUS, stepUS int64) (cycles int, activeUS int64) {
	from := max(t.countedFrom, endUS-stepUS)
	at := 0
	for ; at < t.length && t.pending[at].us < endUS; at++ {
		switch m := t.pending[at]; {
		case !m.ends:
			t.begun = m.us
		case t.begun != 0:
			activeUS += max(0, m.us-max(t.begun, from))
			t.begun = 0
			if !m.brief {
				cycles++
			}
		}
	}
	copy(t.pending[:], t.pending[at:t.length])
	t.length -= at
	if t.begun != 0 {
		activeUS += max(0, endUS-max(t.begun, from))
	}
	cycles += t.loose
	activeUS = min(activeUS+t.looseUS, stepUS)
	t.loose, t.looseUS, t.countedFrom = 0, 0, endUS
	return cycles, activeUS
}
