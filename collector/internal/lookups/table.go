package lookups

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/offheap"
)

// Table counts failing lookups by process and pattern. It is set-associative and bounded. A new key that finds no room
// replaces the weakest row of its set and inherits its strength plus its own weight: a key with more than an eighth of
// the lookups of a set stays in it, whenever it arrives (Space-Saving, as in dnscapture's table of names). What an
// evicted row counted is added to its folder. It is used by one goroutine at a time and does not allocate.
type Table struct {
	seed    maphash.Seed
	sets    [][ways]row
	other   float64 // lookups without a row
	told    float64 // weight of this tick's samples
	evicted row     // not yet added to the row of its folder; key 0: none
	pattern [2 * PatternBytes]byte
}

const (
	setBits    = 6
	sets, ways = 1 << setBits, 8
	pids       = 4
)

type row struct {
	key     uint64 // 0: free
	cgroup  uint64
	strong  float64 // upper bound of its lookups, including those of the rows before it
	fresh   float64 // in this tick, as sampled
	count   float64
	pids    [pids]uint32
	byPID   [pids]float64
	freshBy [pids]float64
	many    bool // more processes than fit into pids
	length  uint8
	command [16]byte
	pattern [PatternBytes]byte
}

// NewTable makes an empty table.
func NewTable() *Table {
	t := &Table{seed: maphash.MakeSeed()}
	t.sets = offheap.Make[[ways]row](t, sets)
	return t
}

// Add counts a lookup.
func (t *Table) Add(lookup *Lookup) {
	weight := float64(lookup.Weight)
	t.told += weight
	pattern := AppendPattern(t.pattern[:0], lookup.Path, lookup.Cut)
	t.add(lookup, pattern, weight)
}

func (t *Table) add(lookup *Lookup, pattern []byte, weight float64) {
	r := t.row(lookup, pattern, weight)
	if t.evicted.key != 0 {
		t.fold(r)
	}
	r.fresh += weight
	for i := range r.pids {
		if r.pids[i] == 0 {
			r.pids[i] = lookup.PID
		}
		if r.pids[i] == lookup.PID {
			r.freshBy[i] += weight
			return
		}
	}
	r.many = true
}

// fold adds the evicted row to the one of its folder, which it creates if there is room. spare is not touched.
func (t *Table) fold(spare *row) {
	evicted := &t.evicted
	defer func() { evicted.key = 0 }()
	var space [PatternBytes + 1]byte
	folder := appendFolder(space[:0], evicted.pattern[:evicted.length])
	whole := evicted.fresh + evicted.count
	if len(folder) > PatternBytes || bytes.Equal(folder, evicted.pattern[:evicted.length]) {
		t.other += whole
		return
	}
	key := t.key(evicted.cgroup, evicted.command[:], folder)
	set := &t.sets[key>>(64-setBits)]
	var weakest *row
	for i := range set {
		r := &set[i]
		if r.key == key {
			r.strong += whole
			r.merge(evicted)
			return
		}
		if r != spare && (weakest == nil || r.strong < weakest.strong) {
			weakest = r
		}
	}
	if weakest.strong > evicted.strong {
		t.other += whole
		return
	}
	t.other += weakest.fresh + weakest.count
	evicted.key, evicted.strong = key, weakest.strong+whole
	evicted.length = uint8(copy(evicted.pattern[:], folder))
	*weakest = *evicted
}

func (t *Table) key(cgroup uint64, command, pattern []byte) uint64 {
	return (maphash.Bytes(t.seed, pattern) ^ bits.RotateLeft64(maphash.Bytes(t.seed, command), 17) ^
		bits.RotateLeft64(maphash.Comparable(t.seed, cgroup), 31)) | 1
}

// row returns the row of a process and a pattern. If it takes the place of another one, that is evicted.
func (t *Table) row(lookup *Lookup, pattern []byte, weight float64) *row {
	var command [16]byte
	copy(command[:], lookup.Command)
	key := t.key(lookup.Cgroup, command[:], pattern)
	set := &t.sets[key>>(64-setBits)]
	weakest := &set[0]
	for i := range set {
		r := &set[i]
		if r.key == key {
			r.strong += weight
			return r
		}
		if r.strong < weakest.strong {
			weakest = r
		}
	}
	if weakest.key != 0 {
		t.evicted = *weakest
	}
	*weakest = row{key: key, cgroup: lookup.Cgroup, strong: weakest.strong + weight, length: uint8(len(pattern))}
	weakest.command = command
	copy(weakest.pattern[:], pattern)
	return weakest
}

// EndTick scales the samples of the tick to the count of failures, which is exact, and calls take with each cgroup's
// part, possibly several times for the same one.
func (t *Table) EndTick(failures uint64, take func(cgroup uint64, failures float64)) {
	if t.told == 0 {
		t.other += float64(failures)
		return
	}
	scale := float64(failures) / t.told
	t.told = 0
	for i := range t.sets {
		for j := range t.sets[i] {
			r := &t.sets[i][j]
			if r.fresh == 0 {
				continue
			}
			r.count += r.fresh * scale
			take(r.cgroup, r.fresh*scale)
			r.fresh = 0
			for k := range r.freshBy {
				r.byPID[k] += r.freshBy[k] * scale
				r.freshBy[k] = 0
			}
		}
	}
}

// Take copies the table into another and empties it.
func (t *Table) Take(into *Table) {
	copy(into.sets, t.sets)
	into.other = t.other
	clear(t.sets)
	t.other, t.told = 0, 0
}

// merge adds what another row counted.
func (r *row) merge(other *row) {
	r.fresh += other.fresh
	r.count += other.count
	r.many = r.many || other.many
	for i, pid := range other.pids {
		if pid == 0 {
			continue
		}
		at := slices.Index(r.pids[:], pid)
		if at < 0 {
			at = slices.Index(r.pids[:], 0)
		}
		if at < 0 {
			r.many = true
			continue
		}
		r.pids[at] = pid
		r.byPID[at] += other.byPID[i]
		r.freshBy[at] += other.freshBy[i]
	}
}

func (r *row) commandText() string { return string(bytes.TrimRight(r.command[:], "\x00")) }
