package pods

import (
	"math/rand/v2"
	"time"
)

const (
	listsEvery = 2 * time.Minute
	// The lists are of the whole cluster, from the server's cache. They are requested the more rarely the longer they
	// are: a thousand nodes together get at most a thousand items a second.
	listsItem = time.Second
)

// listsPace says when to request the lists.
type listsPace struct {
	at      time.Time
	wait    time.Duration
	covered map[string]bool // the namespaces that were here then
}

// isDue reports that it is time, which comes sooner if there are containers of a namespace that was not here.
func (p *listsPace) isDue(here map[string]bool, now time.Time) bool {
	wait := p.wait
	for namespace := range here {
		if !p.covered[namespace] {
			wait = p.wait / 4
		}
	}
	return len(here) > 0 && now.Sub(p.at) >= wait
}

func (p *listsPace) asked(here map[string]bool, items int, now time.Time) {
	p.at, p.covered = now, here
	p.wait = listsEvery + time.Duration(items)*listsItem
	p.wait += rand.N(p.wait / 4) // not all nodes at the same time
}
