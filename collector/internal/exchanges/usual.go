package exchanges

import (
	"math"
	"math/bits"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

const (
	// Levels of answer times: up to 20 ms, up to 40 ms, and so on; the last one is everything over 10 s.
	levels = 11
	// How fast the past fades, and how often the present becomes the past.
	fadesNS = int64(time.Minute)
	foldNS  = int64(time.Second)
	// Fewer answers say nothing about what is usual.
	enoughAnswers = 100
	// Fewer slow ones are no change, and chance makes this many standard deviations more than expected.
	leastMore = 3
	chance    = 3
)

// usual tells whether answers are slow as they always are: those of many services take over 20 ms, or a few of them do.
// News is only if more of them exceed some time than their share of the last minute leads to expect.
type usual struct {
	present, past [levels]float64
	foldedNS      int64
	toldNS        int64
}

func level(latencyUS uint32) int { return min(bits.Len32(latencyUS/(catalogue.SlowUS+1)), levels-1) }

func (u *usual) count(latencyUS uint32) { u.present[level(latencyUS)]++ }

// news reports whether the answers since the last fold are slower than usual.
func (u *usual) news() bool {
	now, before := sum(u.present), sum(u.past)
	if before < enoughAnswers {
		return false
	}
	more, usually := 0.0, 0.0
	for i := levels - 1; i > 0; i-- {
		more += u.present[i]
		usually += u.past[i]
		expected := usually / before * now
		if more >= leastMore && more > expected+chance*math.Sqrt(expected)+leastMore-1 {
			return true
		}
	}
	return false
}

// fold makes the present part of the past, once a second.
func (u *usual) fold(nowNS int64) {
	since := nowNS - u.foldedNS
	if since < foldNS {
		return
	}
	keep := math.Exp(-float64(since) / float64(fadesNS))
	for i := range u.past {
		u.past[i] = u.past[i]*keep + u.present[i]
		u.present[i] = 0
	}
	u.foldedNS = nowNS
}

func sum(counts [levels]float64) (all float64) {
	for _, one := range counts {
		all += one
	}
	return all
}
