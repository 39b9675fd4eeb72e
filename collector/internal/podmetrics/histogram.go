// Package podmetrics reads how long pods take to start, and the phases of that, from the metrics pages of the kubelet
// and of Cilium.
package podmetrics

import (
	"math"
	"slices"
)

// Histogram is a family of a page, summed over its labels: how many values there were so far up to each bound.
type Histogram struct {
	Bounds     []float64 // seconds, ascending; the last is +Inf
	Cumulative []float64 // one per bound
	Sum        float64   // seconds
}

// collect gathers a histogram while a page is read; label sets are summed.
type collect struct {
	upTo map[float64]float64
	sum  float64
}

func (c *collect) bucket(bound, count float64) {
	if c.upTo == nil {
		c.upTo = make(map[float64]float64)
	}
	c.upTo[bound] += count
}

// histogram is nil if the page had no buckets of the family: nothing was observed yet, or it is a summary.
func (c *collect) histogram() *Histogram {
	if len(c.upTo) == 0 {
		return nil
	}
	h := &Histogram{Sum: c.sum}
	for bound := range c.upTo {
		h.Bounds = append(h.Bounds, bound)
	}
	slices.Sort(h.Bounds)
	for _, bound := range h.Bounds {
		h.Cumulative = append(h.Cumulative, c.upTo[bound])
	}
	return h
}

// Increment is what was observed between two scrapes.
type Increment struct {
	Bounds []float64
	Counts []float64 // per bucket, not cumulative
	Sum    float64
}

// Total is the number of values.
func (i *Increment) Total() float64 {
	total := 0.0
	for _, count := range i.Counts {
		total += count
	}
	return total
}

// Since returns what was added after an earlier scrape; nil stands for one without any value. If the counters fell or
// the buckets changed, the program was restarted in between: all that it counted is new.
func (h *Histogram) Since(earlier *Histogram) Increment {
	if earlier == nil || !slices.Equal(h.Bounds, earlier.Bounds) || fell(h, earlier) {
		earlier = &Histogram{Bounds: h.Bounds, Cumulative: make([]float64, len(h.Bounds))}
	}
	grown := Increment{Bounds: h.Bounds, Counts: make([]float64, len(h.Bounds)), Sum: h.Sum - earlier.Sum}
	below := 0.0
	for i := range h.Bounds {
		upTo := h.Cumulative[i] - earlier.Cumulative[i]
		grown.Counts[i] = max(0, upTo-below)
		below = max(below, upTo)
	}
	return grown
}

func fell(h, earlier *Histogram) bool {
	for i := range h.Cumulative {
		if h.Cumulative[i] < earlier.Cumulative[i] {
			return true
		}
	}
	return false
}

// pieces is the maximum resolution within a bucket.
const pieces = 64

// EachValue calls observe with values (µs) that fit the buckets. Inside the buckets they are placed so that their sum
// matches the page's: a single value is then exact. If no placement fits that sum (some kubelets reported -1.8e10 s for
// 110 pods), values are spread evenly in their buckets.
func (i *Increment) EachValue(observe func(us int64, count uint32)) {
	lowest, widths, open := 0.0, 0.0, 0.0
	last := len(i.Bounds) - 1
	for b, count := range i.Counts {
		low, high := i.span(b)
		lowest += count * low
		if math.IsInf(high, 1) {
			open = count
		} else {
			widths += count * (high - low)
		}
	}
	share, beyond := 0.5, 0.0
	switch rest := i.Sum - lowest; {
	case open > 0:
		// Beyond the last bound there is no middle: these values get what the others leave of the sum.
		beyond = max(0, rest-widths/2) / open
	case widths > 0 && rest >= -1e-6*(1+lowest) && rest <= widths*(1+1e-6):
		share = min(max(rest/widths, 0), 1)
	}
	for b, count := range i.Counts {
		low, high := i.span(b)
		if b == last && math.IsInf(high, 1) {
			if count < 1 {
				continue
			}
			observe(int64((low+beyond)*1e6), uint32(count))
			continue
		}
		place(low, high, share, count, observe)
	}
}

// span is the bucket (low, high] in seconds.
func (i *Increment) span(bucket int) (low, high float64) {
	if bucket > 0 {
		low = i.Bounds[bucket-1]
	}
	return low, i.Bounds[bucket]
}

// place spreads count values evenly around the point at the fraction share of the way from low to high.
func place(low, high, share, count float64, observe func(us int64, count uint32)) {
	middle, half := low+share*(high-low), min(share, 1-share)*(high-low)
	left := uint32(count)
	parts := min(left, pieces)
	for part := range parts {
		at := middle + half*(2*(float64(part)+0.5)/float64(parts)-1)
		here := left / (parts - part)
		left -= here
		observe(int64(math.Round(at*1e6)), here)
	}
}
