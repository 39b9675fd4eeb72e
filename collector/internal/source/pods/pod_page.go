package pods

import (
	"context"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/podmetrics"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

const (
	podPageEvery = 10 * time.Second
	podPageFirst = 2 * time.Second
	podPageAgain = 30 * time.Second // if there was no answer
	// A page is scraped so rarely that it takes no more than 1/podPageShare of the time.
	podPageShare = 100
	podPageMost  = time.Minute
)

// podMetricIDs are the metrics of the phases.
var podMetricIDs = [podmetrics.Phases]uint32{
	catalogue.PodStartSliUS, catalogue.PodStartTotalUS, catalogue.PodSandboxUS, catalogue.PodImagePullUS,
	catalogue.PodContainerStartUS, catalogue.PodCgroupUS, catalogue.PodCniUS, catalogue.PodBpfLoadUS, catalogue.PodBpfCompileUS,
}

// podPage follows the histograms of one metrics page: the increase since the last scrape is recorded for the node in
// the tick after it.
type podPage struct {
	registry *sampler.Registry
	every    time.Duration
	fact     string // for the program's version
	read     func(context.Context) (*podmetrics.Reading, error)
	needs    string // required permission
	last     *podmetrics.Reading

	mu      sync.Mutex
	fresh   bool // not recorded yet
	pending [podmetrics.Phases]batch.Histogram
}

// loop reads the page until ctx ends.
func (p *podPage) loop(ctx context.Context) {
	wait := podPageFirst
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(wait, p.every)):
		}
		began := time.Now()
		wait = p.visit(ctx, began)
	}
}

// visit scrapes the page once and returns how long to wait until the next time.
func (p *podPage) visit(ctx context.Context, now time.Time) time.Duration {
	reading, err := p.read(ctx)
	if err != nil {
		if ctx.Err() == nil {
			p.registry.Degraded(err.Error(), p.needs)
		}
		return podPageAgain
	}
	if !reading.Present {
		if p.last == nil && !reading.At.IsZero() {
			p.last = reading // a page without any observation yet: all that follows is new
		}
		return podPageAgain
	}
	p.registry.Degraded("", "")
	if reading.Version != "" {
		p.registry.Fact(batch.Node, p.fact, reading.Version)
	}
	p.take(reading)
	return min(max(p.every, time.Since(now)*podPageShare), max(p.every, podPageMost))
}

// take records what is new in a scrape.
func (p *podPage) take(reading *podmetrics.Reading) {
	before := p.last
	p.last = reading
	if before == nil {
		// What a young program has counted since it started is part of what is watched; for an old one it is history.
		if reading.Started.IsZero() || reading.At.Sub(reading.Started) > procwatch.Young {
			return
		}
		before = &podmetrics.Reading{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for phase, histogram := range reading.Histograms {
		if histogram == nil {
			continue
		}
		grown := histogram.Since(before.Histograms[phase])
		if grown.Total() > 0 {
			grown.EachValue(p.pending[phase].ObserveMany)
			p.fresh = true
		}
	}
}

// record writes what was scraped since the last tick. Sample calls it.
func (p *podPage) record(recorder *sampler.Recorder) {
	if !p.mu.TryLock() {
		return // being written: wait for the next tick
	}
	defer p.mu.Unlock()
	if !p.fresh {
		return
	}
	p.fresh = false
	for phase := range p.pending {
		if histogram := &p.pending[phase]; histogram.Total() > 0 {
			recorder.Distribution(0, batch.Node, podMetricIDs[phase], histogram)
			histogram.Reset()
		}
	}
}
