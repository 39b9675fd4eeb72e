package batch

import "math"

// Histogram is the sparse log-bucket histogram of ingest.v1 DistributionBlock: bucket b counts values v in microseconds
// with Gamma^(b-1) < v <= Gamma^b; v <= 1 is bucket 0. Relative error at most 2 %
// (DDSketch: Masson, Rim, Lee, VLDB 2019). The zero value is ready; it is meant to be kept and Reset for each tick.
type Histogram struct {
	counts  [Buckets]uint32
	touched []uint16
	total   uint64
}

// Gamma is the ratio of adjacent bucket bounds.
const Gamma = 1.04

// Buckets is the number of buckets: Gamma^599 µs is 4.5 hours.
const Buckets = 600

var inverseLogGamma = 1 / math.Log(Gamma)

// Bucket returns the bucket of a value in microseconds.
func Bucket(us int64) int {
	if us <= 1 {
		return 0
	}
	// The small decrement keeps exact powers in their own bucket despite rounding.
	return min(int(math.Ceil(math.Log(float64(us))*inverseLogGamma-1e-9)), Buckets-1)
}

// Observe counts a value in microseconds. It allocates only until the histogram has seen its widest spread of values.
func (h *Histogram) Observe(us int64) { h.ObserveMany(us, 1) }

// ObserveMany counts a value count times.
func (h *Histogram) ObserveMany(us int64, count uint32) {
	if count == 0 {
		return
	}
	bucket := Bucket(us)
	if h.counts[bucket] == 0 {
		if h.touched == nil {
			h.touched = make([]uint16, 0, 64)
		}
		h.touched = append(h.touched, uint16(bucket))
	}
	h.counts[bucket] += count
	h.total += uint64(count)
}

// Total is the number of values counted since the last Reset.
func (h *Histogram) Total() uint64 { return h.total }

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	for _, bucket := range h.touched {
		h.counts[bucket] = 0
	}
	h.touched = h.touched[:0]
	h.total = 0
}
