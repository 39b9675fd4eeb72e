// Package trend predicts where a gauge is going.
package trend

// Memory that will reach its limit sooner than this is worth a diagnosis, repeatedly while it grows.
const (
	MemoryHorizonUS = 10_000_000
	MemoryAgainUS   = 2_000_000
)

// Trend remembers the last values of a gauge, one per tick, and predicts where it is going. It does not allocate.
type Trend struct {
	values    [length]float64
	atUS      [length]int64
	count     int // added so far
	lastAskUS int64
}

const (
	length = 8
	minUS  = 300_000    // less than three ticks is not a trend
	maxUS  = 10_000_000 // values that are further apart say nothing about now
)

// Add remembers a value.
func (t *Trend) Add(atUS int64, value float64) {
	at := t.count % length
	t.values[at], t.atUS[at] = value, atUS
	t.count++
}

// Reaches reports whether the value, continuing as it does, reaches limit within horizonUS.
func (t *Trend) Reaches(limit float64, horizonUS float64) bool {
	slope := t.Slope()
	return slope > 0 && (limit-t.Last())/slope <= horizonUS
}

// Slope is the growth per microsecond over the older or the newer half of the remembered values, whichever is less: a
// single step is not a trend. 0 if too little is known.
func (t *Trend) Slope() float64 {
	if t.count < 4 {
		return 0
	}
	newest, remembered := (t.count-1)%length, min(t.count, length)
	half := remembered / 2
	return min(t.rise(newest, half), t.rise((newest-half+length)%length, remembered-1-half))
}

// Steady is Slope if all values are present: for values a second apart, growth that continues for seconds, even in
// steps.
func (t *Trend) Steady() float64 {
	if t.count < length {
		return 0
	}
	return t.Slope()
}

// Steepest is the largest growth per microsecond up to now that the values show.
func (t *Trend) Steepest() (slope float64, ok bool) {
	for back := 1; back < min(t.count, length); back++ {
		if newest := (t.count - 1) % length; t.spans(newest, back) {
			rise := t.rise(newest, back)
			if !ok || rise > slope {
				slope, ok = rise, true
			}
		}
	}
	return slope, ok
}

// Last is the newest value; LastUS is its time, 0 if there is none.
func (t *Trend) Last() float64 { return t.values[(t.count+length-1)%length] }

// LastUS is the time of the newest value.
func (t *Trend) LastUS() int64 { return t.atUS[(t.count+length-1)%length] }

// spans reports whether a value has the right age for computing a slope.
func (t *Trend) spans(newest, back int) bool {
	elapsed := t.atUS[newest%length] - t.atUS[(newest-back+length)%length]
	return elapsed >= minUS && elapsed <= maxUS
}

// rise is the slope per microsecond since the value added back values before the newest; 0 if unknown.
func (t *Trend) rise(newest, back int) float64 {
	if !t.spans(newest, back) {
		return 0
	}
	newest, old := newest%length, (newest-back+length)%length
	return (t.values[newest] - t.values[old]) / float64(t.atUS[newest]-t.atUS[old])
}

// Ask reports whether to request a diagnosis now: not more often than every againUS.
func (t *Trend) Ask(nowUS, againUS int64) bool {
	if t.lastAskUS != 0 && nowUS-t.lastAskUS < againUS {
		return false
	}
	t.lastAskUS = nowUS
	return true
}
