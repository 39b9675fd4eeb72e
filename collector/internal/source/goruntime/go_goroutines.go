package goruntime

import (
	"math"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// goGoroutines counts the goroutines of one process: in its memory, which takes one system call, for a DNS server at
// each tick and for others every second; if that is not possible, on its metrics page whenever that is scraped.
type goGoroutines struct {
	slot    batch.Slot
	counter *goruntime.Goroutines // changed only in Registry.Between
	lost    bool                  // its processors changed
	due     time.Time             // for a search; discovery
	wait    time.Duration
	never   bool
}

const (
	searchGoroutinesFirst = time.Second // a young program has not started running yet
	searchGoroutinesMost  = time.Minute
)

func newGoGoroutines(registry *sampler.Registry, p *goProcess) goGoroutines {
	return goGoroutines{slot: registry.Series(p.watched.Resource, catalogue.GoGoroutines), wait: searchGoroutinesFirst}
}

// search looks for the counts if there are none, rarely if they were not found before. Discover calls it.
func (g *goGoroutines) search(registry *sampler.Registry, p *goProcess) {
	now := time.Now()
	if g.never || g.counter != nil && !g.lost || now.Before(g.due) {
		return
	}
	counter, err := goruntime.FindGoroutines(registry.Roots.Proc, p.watched.PID, p.watched.Go)
	if err != nil {
		if g.due, g.wait = now.Add(g.wait), 2*g.wait; g.wait > searchGoroutinesMost {
			registry.Log.Info("goroutines cannot be counted in memory", "pid", p.watched.PID, "command", p.watched.Command, "error", err)
			g.never = true
		}
		return
	}
	g.due, g.wait = now.Add(searchGoroutinesFirst), searchGoroutinesFirst
	registry.Between(func() { g.counter, g.lost = counter, false })
}

// sample records the number. Sample calls it.
func (g *goGoroutines) sample(tick sampler.Tick, index int, p *goProcess, recorder *sampler.Recorder) {
	if g.counter == nil || g.lost || p.watched.DNS == "" && !tick.Due(index) {
		return
	}
	if count, ok := g.counter.Count(); ok {
		recorder.Set(g.slot, float64(count))
	} else {
		g.lost = true
	}
}

// recordScraped records the number from the metrics page if there is no better source.
func (g *goGoroutines) recordScraped(count float64, recorder *sampler.Recorder) {
	if g.counter == nil && !math.IsNaN(count) {
		recorder.Set(g.slot, count)
	}
}
