package kernel

import (
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/flightrecorder"
)

// flightCuts decides for which triggers a capture is sent, when, and from what time on. Nearly all triggers of one kind
// look alike, and a capture has some ten kilobytes: the more often a trigger comes, the more rarely it is captured.
type flightCuts struct {
	last                     map[flightKey]*flightLast
	pending                  []flightTrigger
	recent                   [flightsAMinute]int64 // when the last captures for cgroups were decided on
	next                     int
	stalledFromUS, stalledUS int64
}

type flightTrigger struct {
	resource batch.ResourceID
	reason   string
	atUS     int64
}

type flightKey struct {
	resource batch.ResourceID
	reason   string
}

type flightLast struct {
	captureUS, triggerUS, waitUS int64
}

// flightDue is a capture to be made now.
type flightDue struct {
	flightTrigger
	fromUS int64
}

const (
	flightBeforeUS = 10_000_000
	flightAfterUS  = 2_000_000
	flightLeadUS   = 3_000_000 // before a stall
	// Per resource and reason: once a minute, then after 2, 4, 8, 10 minutes, until it was quiet for 10 minutes.
	flightAgainUS     = 60_000_000
	flightAgainMostUS = 600_000_000
	// All cgroups together; the node has only its own limit.
	flightsAMinute = 2
	flightsKnown   = 1024
)

func newFlightCuts() flightCuts { return flightCuts{last: make(map[flightKey]*flightLast)} }

// stalled records that no thread ran that could have drained what the kernel recorded.
func (c *flightCuts) stalled(fromUS, toUS int64) {
	if c.stalledUS >= fromUS { // the same stall, seen by another thread
		fromUS = min(fromUS, c.stalledFromUS)
	}
	c.stalledFromUS, c.stalledUS = fromUS, max(toUS, c.stalledUS)
}

// add considers a trigger.
func (c *flightCuts) add(trigger flightTrigger) {
	key := flightKey{trigger.resource, trigger.reason}
	last := c.last[key]
	if last == nil || trigger.atUS-last.triggerUS >= flightAgainMostUS {
		if len(c.last) >= flightsKnown {
			clear(c.last)
		}
		last = &flightLast{}
		c.last[key] = last
	}
	last.triggerUS = trigger.atUS
	if trigger.atUS-last.captureUS < last.waitUS || c.isPending(trigger) {
		return
	}
	if trigger.resource != batch.Node {
		if trigger.atUS-c.recent[c.next] < flightAgainUS {
			return
		}
		c.recent[c.next] = trigger.atUS
		c.next = (c.next + 1) % len(c.recent)
	}
	last.captureUS, last.waitUS = trigger.atUS, min(max(2*last.waitUS, flightAgainUS), flightAgainMostUS)
	c.pending = append(c.pending, trigger)
}

// isPending reports whether the same moment of the same resource will be captured for another reason.
func (c *flightCuts) isPending(trigger flightTrigger) bool {
	return slices.ContainsFunc(c.pending, func(one flightTrigger) bool {
		return one.resource == trigger.resource && one.atUS == trigger.atUS
	})
}

// due takes a trigger whose aftermath is over.
func (c *flightCuts) due(nowUS int64) (due flightDue, ok bool) {
	for i, trigger := range c.pending {
		if nowUS-trigger.atUS < flightAfterUS && trigger.atUS <= nowUS {
			continue
		}
		c.pending = append(c.pending[:i], c.pending[i+1:]...)
		from := trigger.atUS - flightBeforeUS
		if c.stalledFromUS < trigger.atUS && c.stalledUS >= from {
			from = min(from, c.stalledFromUS-flightLeadUS)
		}
		return flightDue{trigger, max(from, nowUS-flightrecorder.Kept.Microseconds())}, true
	}
	return flightDue{}, false
}
