package main

import (
	"errors"
	"fmt"
	"time"
)

// plan says when each query is sent: evenly at qps, and evenly at burstQPS for burstNs of every everyNs; before all
// that, evenly at calmQPS for calmNs. All times are absolute, so a late query does not delay the following ones.
type plan struct {
	startNs    int64
	durationNs int64
	qps        float64
	burstQPS   float64
	burstNs    int64
	everyNs    int64
	calmQPS    float64
	calmNs     int64
}

const maxQueries = 100_000_000

func (p *plan) check() error {
	switch {
	case p.durationNs <= 0:
		return errors.New("--seconds: want more than 0")
	case p.qps <= 0 || p.qps > 200_000:
		return errors.New("--qps: want more than 0 and at most 200000")
	case p.burstQPS < 0 || p.burstQPS > 200_000:
		return errors.New("--burst-qps: want 0 to 200000")
	case p.burstQPS > 0 && (p.burstNs <= 0 || p.everyNs <= p.burstNs):
		return errors.New("--burst-qps needs --burst-ms above 0 and --every-ms above --burst-ms")
	case p.calmNs < 0 || p.calmNs > 0 && (p.calmQPS <= 0 || p.calmQPS > 200_000):
		return errors.New("--calm-seconds needs --calm-qps: more than 0 and at most 200000")
	}
	if n := p.capacity(); n > maxQueries {
		return fmt.Errorf("%d requests do not fit in memory: lower --qps or --seconds", n)
	}
	return nil
}

// checkIDs is for DNS over the given number of sockets.
func (p *plan) checkIDs(sockets int, timeout time.Duration) error {
	// A 16-bit query id must not be reused while its query can still be answered.
	if fastest := max(p.qps, p.burstQPS, p.calmQPS); fastest*timeout.Seconds() > 60_000*float64(sockets) {
		return fmt.Errorf("%.0f queries/s for %s are more than %d sockets have query ids for: raise --sockets or lower --timeout-ms",
			fastest, timeout, sockets)
	}
	return nil
}

// capacity is at least the number of queries of the plan.
func (p *plan) capacity() int {
	seconds := float64(p.durationNs) / 1e9
	n := seconds*p.qps + float64(p.calmNs)/1e9*p.calmQPS
	if p.burstQPS > 0 {
		bursts := seconds*1e9/float64(p.everyNs) + 1
		n += bursts * (float64(p.burstNs)/1e9*p.burstQPS + 1)
	}
	return int(n) + 16
}

// schedule walks a plan; times are relative to its start.
type schedule struct {
	plan    *plan
	nowNs   float64
	started bool
}

// next returns when the next query is sent, in ns from the start, or false at the end.
func (s *schedule) next() (int64, bool) {
	if s.started {
		s.step()
	}
	s.started = true
	at := int64(s.nowNs)
	return at, at < s.plan.durationNs
}

// step advances by one interval. If a burst begins or ends inside it, the rest of the interval passes at the new rate,
// so that each phase has exactly its share of queries.
func (s *schedule) step() {
	left := 1.0 // of one query's spacing
	for {
		rate, until := s.phase()
		if end := s.nowNs + left*1e9/rate; end <= until {
			s.nowNs = end
			return
		}
		left -= (until - s.nowNs) * rate / 1e9
		s.nowNs = until
	}
}

// phase returns the current rate and when it changes.
func (s *schedule) phase() (rate, untilNs float64) {
	p := s.plan
	if s.nowNs < float64(p.calmNs) {
		return p.calmQPS, float64(p.calmNs)
	}
	if p.burstQPS == 0 {
		return p.qps, float64(p.durationNs) * 2
	}
	every, burst := float64(p.everyNs), float64(p.burstNs)
	index := float64(int64(s.nowNs / every))
	if s.nowNs >= (index+1)*every { // rounding at the boundary
		index++
	}
	begin := index * every
	switch {
	case index >= 1 && s.nowNs < begin+burst:
		return p.burstQPS, begin + burst
	default:
		return p.qps, begin + every
	}
}
