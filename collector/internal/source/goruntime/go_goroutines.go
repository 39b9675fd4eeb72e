package goruntime

import (
	"math"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// goGoroutines counts the goroutines of one process: in its memory, which takes one system call, of a DNS server at each
// tick and of others every second; where that cannot be had, on its metrics page whenever that is read.
type goGoroutines struct {
	slot    batch.Slot
	counter *goruntime.Goroutines // changed in Registry.Between alone
	lost    bool                  // it has other processors than before
	due     time.Time             // for a search; discovery
	wait    time.Duration
	never   bool
}

const (
	searchGoroutinesFirst = time.Second // a young program has not begun yet
	searchGoroutinesMost  = time.Minute
)

func newGoGoroutines(registry *sampler.Registry, p *goProcess) goGoroutines {
	return goGoroutines{slot: registry.Series(p.watched.Resource, catalogue.GoGoroutines), wait: searchGoroutinesFirst}
}

// search looks for the counts where there are none, seldom where they were not found. Called by Discover.
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

// sample records the number. Called by Sample.
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

// recordScraped records what the metrics page says where nothing better is known.
func (g *goGoroutines) recordScraped(count float64, recorder *sampler.Recorder) {
	if g.counter == nil && !math.IsNaN(count) {
		recorder.Set(g.slot, count)
	}
}
