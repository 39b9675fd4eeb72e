// Package flightrecorder keeps what ran on every CPU during the last minute: stacks sampled by the kernel 99 times/s
// and, once per second, the CPU time of the busiest processes. It shows what ran during a stall even if no program
// could observe at the time: sampling uses the kernel's own timer, and its ring buffers are large enough until they are
// drained.
//
// These are the threads that run. What those of a server wait in while it owes answers and gives none is read from
// /proc by whoever notices that, and kept in Waits.
//
// Memory is bounded by what Size says for the number of CPUs and does not grow.
package flightrecorder

import "time"

// RateHz is how often each busy CPU is sampled. It is not a divisor of 100, to stay out of step with work driven by the
// kernel's timer tick.
const RateHz = 99

const (
	// sliceSeconds is the unit of discarding: samples share stacks within a slice, and a slice is dropped as a whole.
	sliceSeconds = 10
	sliceCount   = 7
	// Kept is the minimum time that a recording reaches back: the oldest slice might be about to be dropped.
	Kept = (sliceCount - 1) * sliceSeconds * time.Second
)

// Size is the maximum memory of a recorder, in bytes.
type Size struct {
	Ring    int // of each CPU's kernel ring buffer, a power of two
	Samples int // samples per slice
	Words   int // 8-byte words for the stacks of a slice
	Index   int // hash table entries per slice, a power of two
}

const (
	ringsBytes = 8<<20 + 256<<10 // of all CPUs together
	// controlBytes is the page before each ring.
	controlBytes = 4096
	ringMost     = 2 << 20 // at about 250 bytes per sample this is more than a minute of a busy CPU
	ringLeast    = 8 << 10
	// A slice of two CPUs that are always busy holds some hundred stacks of 20 frames.
	wordsPerCPU = 16 << 10
	wordsMost   = 48 << 10 // 384 KiB per slice, less than 3 MiB in all
	samplesMost = 64 << 10 // 512 KiB per slice: 64 CPUs that are always busy
)

// SizeFor chooses the size for a number of CPUs. On a larger machine the ring of each CPU is smaller: 2 MiB with 4
// CPUs, 128 KiB with 64, which is 5 s of a CPU that is always busy.
func SizeFor(cpus int) Size {
	cpus = max(cpus, 1)
	ring := ringMost
	for ring > ringLeast && (ring+controlBytes)*cpus > ringsBytes {
		ring /= 2
	}
	words := min(wordsPerCPU*cpus, wordsMost)
	index := 1
	for index < words/8 { // a stack takes more than 8 words, so the table is never full
		index *= 2
	}
	return Size{Ring: ring, Samples: min((RateHz+1)*sliceSeconds*cpus, samplesMost), Words: words, Index: index}
}
