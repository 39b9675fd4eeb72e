package flightrecorder

import (
	"encoding/binary"
	"slices"
	"testing"
)

func frames(addresses ...uint64) []byte {
	var out []byte
	for _, address := range addresses {
		out = binary.NativeEndian.AppendUint64(out, address)
	}
	return out
}

const base = int64(1_800_000_000) * 1_000_000 // start of a slice

func recorderWith(size Size) *Recorder {
	return &Recorder{
		size: size, store: newStore(size), processes: newProcesses("/nonexistent"), waits: NewWaits("/nonexistent"), counts: map[int32]int{},
	}
}

func TestCutAcrossSlices(t *testing.T) {
	r := recorderWith(SizeFor(2))
	for second := range int64(60) {
		us := base + second*1_000_000
		r.store.add(us+1, 1, 10, frames(1, 2, 3), frames(7))
		r.store.add(us, 0, 10, frames(1, 2, 3), frames(7)) // from another CPU's ring, later
		r.store.add(us+2, 0, 11, frames(1, 2, 3), frames(7))
	}
	c := r.cut(base+5_000_000, base+35_000_000)
	if len(c.samples) != 90 || len(c.stacks) != 2 {
		t.Fatalf("%d samples of %d stacks", len(c.samples), len(c.stacks))
	}
	for i, s := range c.samples[:3] {
		want := cutSample{base + 5_000_000 + int64(i), uint32(i / 2), int32(i % 2), 10 + int32(i/2)}
		if s != want {
			t.Errorf("%+v, not %+v", s, want)
		}
	}
	if stack := c.stacks[1]; stack.pid != 11 || !slices.Equal(stack.kernel, []uint64{1, 2, 3}) || !slices.Equal(stack.user, []uint64{7}) {
		t.Errorf("%+v", stack)
	}
	if !slices.IsSortedFunc(c.samples, func(a, b cutSample) int { return int(a.us - b.us) }) {
		t.Error("not sorted by time")
	}
}

func TestOldSlicesAreForgotten(t *testing.T) {
	r := recorderWith(SizeFor(1))
	for second := range int64(200) {
		r.store.add(base+second*1_000_000, 0, 10, frames(uint64(second)), nil)
	}
	now := base + 199_000_000
	if c := r.cut(now-Kept.Microseconds(), now+1); len(c.samples) != int(Kept.Seconds())+1 {
		t.Errorf("%d samples of the last %s", len(c.samples), Kept)
	}
	if c := r.cut(0, now+1); len(c.samples) > sliceCount*sliceSeconds {
		t.Errorf("%d samples are kept", len(c.samples))
	}
	r.store.add(base, 0, 10, frames(1), nil) // the machine was suspended, or the clock was set
	if r.store.lost != 1 {
		t.Errorf("%d lost", r.store.lost)
	}
}

func TestSlicesAreBounded(t *testing.T) {
	size := Size{Ring: 4096, Samples: 100, Words: 256, Index: 32}
	r := recorderWith(size)
	for i := range 1000 {
		r.store.add(base+int64(i), 0, 10, frames(uint64(i), 1, 2, 3, 4, 5, 6, 7, 8, 9), nil)
	}
	c := r.cut(base, base+1000)
	if fit := (256 - 1) / 12; len(c.samples) != fit || c.lost != uint64(1000-fit) {
		t.Errorf("%d samples, %d lost", len(c.samples), c.lost)
	}
	for i := range 1000 { // short stacks overflow neither the words nor the table
		r.store.add(base+sliceUS+int64(i), 0, 10, frames(uint64(i)), nil)
	}
	if c := r.cut(base+sliceUS, base+2*sliceUS); len(c.samples) != (256-1)/8 {
		t.Errorf("%d samples", len(c.samples))
	}
	for i := range 1000 { // one stack, more samples than fit
		r.store.add(base+2*sliceUS+int64(i), 0, 10, frames(1), nil)
	}
	if c := r.cut(base+2*sliceUS, base+3*sliceUS); len(c.samples) != 100 || c.lost != 900 {
		t.Errorf("%d samples, %d lost", len(c.samples), c.lost)
	}
}

// TestSize checks the promise of 15 MiB, for any machine: the kernel's rings, the slices, the process table.
func TestSize(t *testing.T) {
	for cpus := 1; cpus <= 512; cpus++ {
		size := SizeFor(cpus)
		total := cpus*(size.Ring+4096) + sliceCount*(8*size.Samples+8*size.Words+4*size.Index) + 40*rowsKept
		if total > 15<<20 {
			t.Errorf("%d CPUs: %.1f MiB", cpus, float64(total)/(1<<20))
		}
		if size.Words >= 1<<stackBits || size.Index&(size.Index-1) != 0 || size.Ring&(size.Ring-1) != 0 || size.Words/8 > size.Index {
			t.Errorf("%d CPUs: %+v", cpus, size)
		}
	}
	if two := SizeFor(2); two.Ring < 60*RateHz*250 {
		t.Errorf("the ring of two CPUs has %d bytes: less than a minute", two.Ring)
	}
}
