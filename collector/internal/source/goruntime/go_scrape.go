package goruntime

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/gometrics"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

const (
	// Serving a metrics page is work for the observed process: rarely if only the heap is wanted.
	scrapeHeapEvery   = gometrics.ReadSeldom
	scrapeCyclesEvery = gometrics.ReadOften
	pageTries         = 2 // failures before another source is used
)

// goScraper scrapes the metrics page of one process, if it has one.
type goScraper struct {
	watched *procwatch.Process
	due     time.Time
	last    gometrics.Sample

	hasPage atomic.Bool
	missed  atomic.Int32 // how often a page was looked for and not found

	mu         sync.Mutex
	fresh      bool // not recorded yet
	cycles     float64
	pauseUS    float64
	heapLive   float64
	heapGoal   float64
	goroutines float64
}

func newGoScraper(watched *procwatch.Process) *goScraper {
	nan := math.NaN()
	s := &goScraper{watched: watched, cycles: nan, pauseUS: nan, heapLive: nan, heapGoal: nan, goroutines: nan, last: gometrics.Sample{Cycles: nan}}
	s.due = time.Now().Add(gometrics.FindFirst)
	if watched.Go.ClientGolang == "" {
		s.due = time.Now().AddDate(100, 0, 0) // no Prometheus client in the program: none of its ports is tried
		s.missed.Store(pageTries)
	}
	return s
}

func (s *goScraper) found() bool { return s.hasPage.Load() }

// searching reports whether a page might still be found.
func (s *goScraper) searching() bool { return !s.found() && s.missed.Load() < pageTries }

// scrapeDue visits the due pages one after another; a slow one delays only other pages.
func (g *goRuntime) scrapeDue(ctx context.Context) {
	g.mu.Lock()
	due := make([]*goProcess, 0, len(g.live))
	for _, p := range g.live {
		if time.Now().After(p.scraper.due) {
			due = append(due, p)
		}
	}
	g.mu.Unlock()
	for _, p := range due {
		g.scrape(ctx, p)
	}
}

func (g *goRuntime) scrape(ctx context.Context, p *goProcess) {
	s := p.scraper
	every := scrapeHeapEvery
	if p.attachment == nil {
		every = scrapeCyclesEvery
	}
	sample, _, err := g.pages.Read(ctx, p.watched)
	switch {
	case err == nil:
		s.due = gometrics.NextReading(time.Now(), every)
	case s.hasPage.Swap(false): // it might be back soon
		s.due = gometrics.NextReading(time.Now(), every)
		return
	default:
		tries := s.missed.Add(1)
		s.due = time.Now().Add(min(gometrics.FindFirst<<min(tries, 10), gometrics.FindEvery))
		return
	}
	if !s.hasPage.Swap(true) && p.attachment == nil {
		g.registry.Fact(p.watched.Resource, "go.gc_source", "metrics")
	}
	if !math.IsNaN(sample.GOMAXPROCS) {
		g.registry.Fact(p.watched.Resource, "go.gomaxprocs", strconv.Itoa(int(sample.GOMAXPROCS)))
	}
	g.countScraped(p, sample)
}

// countScraped keeps a sample for the next tick and, if there are no probes, makes an event of a new cycle. The page
// reports when the last cycle ended, not how long it took: duration 0.
func (g *goRuntime) countScraped(p *goProcess, sample gometrics.Sample) {
	s := p.scraper
	grown, paused := sample.Cycles-s.last.Cycles, sample.PauseSeconds-s.last.PauseSeconds
	s.last = sample
	s.mu.Lock()
	s.fresh, s.heapLive, s.heapGoal, s.goroutines = true, sample.LiveBytes(), sample.HeapGoal, sample.Goroutines
	if p.attachment == nil && grown >= 0 {
		s.cycles, s.pauseUS = grown, paused*1e6
	}
	s.mu.Unlock()
	if p.attachment == nil && grown > 0 && sample.LastGCSeconds > 0 {
		g.registry.Event(p.watched.Resource, "go.gc_cycle", int64(sample.LastGCSeconds*1e6), 0, map[string]string{
			"source": "metrics", "pause_us": strconv.FormatInt(int64(paused/grown*1e6), 10),
		})
	}
}

// recordScraped writes what was scraped since the last tick.
func (p *goProcess) recordScraped(recorder *sampler.Recorder) {
	s := p.scraper
	if !s.mu.TryLock() {
		return // being written: wait for the next tick
	}
	defer s.mu.Unlock()
	if !s.fresh {
		return
	}
	s.fresh = false
	recorder.Set(p.heapLive, s.heapLive)
	recorder.Set(p.heapGoal, s.heapGoal)
	p.goroutines.recordScraped(s.goroutines, recorder)
	if p.attachment == nil {
		recorder.Set(p.cycles, s.cycles)
		recorder.Set(p.pause, s.pauseUS)
	}
}

// describeGo records what the program reports about itself. Only variables that control the Go runtime leave the
// machine.
func describeGo(registry *sampler.Registry, watched *procwatch.Process) {
	fact := func(name, value string) {
		if value != "" {
			registry.Fact(watched.Resource, name, value)
		}
	}
	fact("go.version", watched.Go.Version)
	fact("go.main_module", watched.Go.MainModule)
	fact("go.default_godebug", watched.Go.DefaultGODEBUG)
	fact("go.automaxprocs", watched.Go.Automaxprocs)
	environ, err := os.ReadFile(filepath.Join(registry.Roots.Proc, strconv.Itoa(watched.PID), "environ"))
	if err != nil {
		return
	}
	for name, value := range goruntime.Environment(environ) {
		registry.Fact(watched.Resource, "go.env."+name, value)
	}
}
