package evidence

import "math"

// Gamma is the ratio of adjacent bucket bounds of latencies (ingest.proto, DistributionBlock).
const Gamma = 1.04

const maxBuckets = 1200 // Gamma^1199 µs is some 8,000 years

var inverseLogGamma = 1 / math.Log(Gamma)

// bucketOf returns the bucket of a latency: the smallest b with µs <= Gamma^b.
func bucketOf(ns int64) uint16 {
	if ns <= 1000 {
		return 0
	}
	// The small decrement keeps exact powers in their own bucket despite rounding.
	return uint16(min(int(math.Ceil(math.Log(float64(ns)/1000)*inverseLogGamma-1e-9)), maxBuckets-1))
}

func bucketValueUs(bucket uint16) float64 {
	return 2 * math.Pow(Gamma, float64(bucket)) / (Gamma + 1)
}

// observation is one latency with its bucket, computed once for all histograms it goes into.
type observation struct {
	ns     int64
	bucket uint16
}

func observe(ns int64) observation {
	ns = max(ns, 0)
	return observation{ns, bucketOf(ns)}
}

type bucketCount struct {
	bucket uint16
	count  uint32
}

// histogram is sparse: latencies of one server or tick fall into few buckets. The zero value is ready.
type histogram struct {
	entries      []bucketCount // sorted by bucket
	count        uint64
	sumNs        float64
	minNs, maxNs int64
}

func (h *histogram) add(o observation) {
	if h.count == 0 || o.ns < h.minNs {
		h.minNs = o.ns
	}
	h.maxNs = max(h.maxNs, o.ns)
	h.count++
	h.sumNs += float64(o.ns)
	h.addCount(o.bucket, 1)
}

func (h *histogram) addCount(bucket uint16, count uint32) {
	low, high := 0, len(h.entries)
	for low < high {
		middle := int(uint(low+high) / 2)
		if h.entries[middle].bucket < bucket {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(h.entries) && h.entries[low].bucket == bucket {
		h.entries[low].count += count
		return
	}
	h.entries = append(h.entries, bucketCount{})
	copy(h.entries[low+1:], h.entries[low:])
	h.entries[low] = bucketCount{bucket, count}
}

func (h *histogram) merge(other *histogram) {
	if other.count == 0 {
		return
	}
	if h.count == 0 || other.minNs < h.minNs {
		h.minNs = other.minNs
	}
	h.maxNs = max(h.maxNs, other.maxNs)
	h.count += other.count
	h.sumNs += other.sumNs
	for _, entry := range other.entries {
		h.addCount(entry.bucket, entry.count)
	}
}

// quantileNs is the q-quantile, within 2 % and never outside what was observed; 0 if nothing was.
func (h *histogram) quantileNs(q float64) int64 {
	if h.count == 0 {
		return 0
	}
	rank := uint64(q * float64(h.count-1))
	var passed uint64
	for _, entry := range h.entries {
		if passed += uint64(entry.count); passed > rank {
			return min(max(int64(bucketValueUs(entry.bucket)*1000), h.minNs), h.maxNs)
		}
	}
	return h.maxNs
}
