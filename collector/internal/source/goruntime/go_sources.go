package goruntime

import (
	"fmt"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/probes"
)

// readGOMAXPROCS records the value in effect; a program can change it, and since Go 1.25 the runtime does.
func (g *goRuntime) readGOMAXPROCS(p *goProcess) {
	if p.procs == nil {
		return
	}
	if value, err := p.procs.Read(g.registry.Roots.Proc, p.watched.PID); err == nil {
		g.registry.Fact(p.watched.Resource, "go.gomaxprocs", strconv.Itoa(value))
	}
}

// lastResort follows the threads of a process that has neither probes nor a metrics page. Called with mu held.
func (g *goRuntime) lastResort(p *goProcess) {
	if p.attachment != nil || p.scraper.searching() {
		return
	}
	threads := p.threads
	if p.scraper.found() {
		if threads != nil {
			g.registry.Between(func() { p.threads = nil })
			threads.threads.Close()
		}
		return
	}
	if threads == nil {
		threads = &goThreads{}
		g.registry.Between(func() { p.threads = threads })
		g.registry.Fact(p.watched.Resource, "go.gc_source", "threads")
	}
	threads.follow(g.registry, p.watched.PID)
}

// stateOfSource reports which processes are covered only by a fallback, and why.
func (g *goRuntime) stateOfSource() {
	g.mu.Lock()
	defer g.mu.Unlock()
	without := 0
	for _, p := range g.live {
		if p.attachment == nil {
			without++
		}
	}
	switch {
	case g.missing != nil:
		g.registry.Degraded("no probes: "+bpf.Explain(g.missing)+"; see fact go.gc_source", probes.Needs)
	case without > 0:
		g.registry.Degraded(fmt.Sprintf("%d of %d Go processes cannot be probed; see fact go.gc_source", without, len(g.live)), "")
	default:
		g.registry.Degraded("", "")
	}
}
