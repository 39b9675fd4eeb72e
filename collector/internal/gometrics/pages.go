package gometrics

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// Pages are the metrics pages of the watched processes. Serving one is work for the observed process, so sources share
// scrapes: they scrape at the same moments (NextReading), and the second one gets what the first one read.
type Pages struct {
	proc string

	mu    sync.Mutex
	pages map[*procwatch.Process]*sharedPage
}

// sharedPage is the page of one process.
type sharedPage struct {
	mu     sync.Mutex
	page   *Page // nil: not found
	sample Sample
	took   time.Duration // of the last scrape
	sought time.Time     // when it was last looked for and not found
	closed bool
}

// How often a page is looked for.
const (
	FindFirst = 2 * time.Second // a young process might not listen yet
	FindEvery = 5 * time.Minute // after many failed attempts
)

// How often a page is scraped. Each divides the next, so that the scrapes of several sources coincide.
const (
	ReadOften  = time.Second
	ReadUsual  = 5 * time.Second
	ReadSeldom = 15 * time.Second
)

// sharedWithin is the maximum age of another source's scrape that is reused: sources check every 250 ms whether they
// are due.
const sharedWithin = 600 * time.Millisecond

var errNoPage = errors.New("no metrics page")

// SharedPages returns the pages of the registry's engine.
func SharedPages(registry *sampler.Registry) *Pages {
	watcher := procwatch.Shared(registry) // not below: Shared does not nest
	return registry.Shared("metrics_pages", func() any {
		pages := &Pages{proc: registry.Roots.Proc, pages: make(map[*procwatch.Process]*sharedPage)}
		watcher.Subscribe(pages.change)
		return pages
	}).(*Pages)
}

func (m *Pages) change(_, removed []*procwatch.Process) {
	m.mu.Lock()
	var gone []*sharedPage
	for _, process := range removed {
		if page := m.pages[process]; page != nil {
			gone = append(gone, page)
			delete(m.pages, process)
		}
	}
	m.mu.Unlock()
	for _, page := range gone {
		go page.close() // it can stay in use as long as a request takes
	}
}

// Read returns the sample of a process, and how long the scrape took. It looks for the page if it is not known.
func (m *Pages) Read(ctx context.Context, process *procwatch.Process) (Sample, time.Duration, error) {
	m.mu.Lock()
	page := m.pages[process]
	if page == nil {
		page = &sharedPage{}
		m.pages[process] = page
	}
	m.mu.Unlock()
	return page.read(ctx, m.proc, process.PID)
}

func (p *sharedPage) read(ctx context.Context, proc string, pid int) (Sample, time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || time.Since(p.sought) < sharedWithin {
		return Sample{}, 0, errNoPage
	}
	if p.page == nil {
		page, err := Find(ctx, proc, pid)
		if err != nil || page == nil {
			p.sought = time.Now()
			return Sample{}, 0, errors.Join(errNoPage, err)
		}
		p.page = page
	} else if time.Since(p.sample.At) < sharedWithin {
		return p.sample, p.took, nil
	}
	started := time.Now()
	sample, err := p.page.Read(ctx)
	if err != nil {
		p.page.Close()
		p.page = nil
		return Sample{}, 0, err
	}
	p.sample, p.took = sample, time.Since(started)
	return sample, p.took, nil
}

func (p *sharedPage) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.page != nil {
		p.page.Close()
	}
}

// NextReading returns the next of the moments that are every apart. They are the same for all sources, so that one
// scrape suffices.
func NextReading(now time.Time, every time.Duration) time.Time { return now.Truncate(every).Add(every) }
