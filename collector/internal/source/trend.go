package source

// Memory that will be at its limit sooner than this is worth a diagnosis, again and again while it grows.
const (
	memoryHorizonUS = 10_000_000
	memoryAgainUS   = 2_000_000
)

// trend remembers the last values of a gauge, one of each tick, and tells where it is going. It does not allocate.
type trend struct {
	values [trendLength]float64
	atUS   [trendLength]int64
	count  int // added so far
	asked  int64
}

const (
	trendLength = 8
	trendMinUS  = 300_000    // less than three ticks is no trend
	trendMaxUS  = 10_000_000 // values that are farther apart say nothing about now
)

// add remembers a value.
func (t *trend) add(atUS int64, value float64) {
	at := t.count % trendLength
	t.values[at], t.atUS[at] = value, atUS
	t.count++
}

// reaches tells whether the value, going on as it does, reaches limit within horizonUS.
func (t *trend) reaches(limit float64, horizonUS float64) bool {
	slope := t.slope()
	return slope > 0 && (limit-t.last())/slope <= horizonUS
}

// slope is the growth per microsecond over the older or the newer half of the values it remembers, whichever is less: a
// single step is no trend. 0 where too little is known.
func (t *trend) slope() float64 {
	if t.count < 4 {
		return 0
	}
	newest, remembered := (t.count-1)%trendLength, min(t.count, trendLength)
	half := remembered / 2
	return min(t.rise(newest, half), t.rise((newest-half+trendLength)%trendLength, remembered-1-half))
}

// steady is slope where all values are there: of values a second apart, growth that goes on for seconds, also by leaps.
func (t *trend) steady() float64 {
	if t.count < trendLength {
		return 0
	}
	return t.slope()
}

// steepest is the largest growth per microsecond up to now that the values tell of.
func (t *trend) steepest() (slope float64, ok bool) {
	for back := 1; back < min(t.count, trendLength); back++ {
		if newest := (t.count - 1) % trendLength; t.spans(newest, back) {
			rise := t.rise(newest, back)
			if !ok || rise > slope {
				slope, ok = rise, true
			}
		}
	}
	return slope, ok
}

// last is the newest value; lastUS says of when it is, 0 where there is none.
func (t *trend) last() float64 { return t.values[(t.count+trendLength-1)%trendLength] }

func (t *trend) lastUS() int64 { return t.atUS[(t.count+trendLength-1)%trendLength] }

// spans tells whether a value is of the right age to tell of a slope.
func (t *trend) spans(newest, back int) bool {
	elapsed := t.atUS[newest%trendLength] - t.atUS[(newest-back+trendLength)%trendLength]
	return elapsed >= trendMinUS && elapsed <= trendMaxUS
}

// rise is the slope per microsecond since the value that was added so many before the newest; 0 where unknown.
func (t *trend) rise(newest, back int) float64 {
	if !t.spans(newest, back) {
		return 0
	}
	newest, old := newest%trendLength, (newest-back+trendLength)%trendLength
	return (t.values[newest] - t.values[old]) / float64(t.atUS[newest]-t.atUS[old])
}

// ask tells whether to ask for a diagnosis now: not more often than every againUS.
func (t *trend) ask(nowUS, againUS int64) bool {
	if t.asked != 0 && nowUS-t.asked < againUS {
		return false
	}
	t.asked = nowUS
	return true
}
