package dns

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/gometrics"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

var coreDNSMetricIDs = [...]uint32{
	catalogue.CorednsCacheHits, catalogue.CorednsCacheMisses, catalogue.CorednsForwardRequests, catalogue.CorednsForwardTimeUS,
	catalogue.CorednsForwardErrors, catalogue.CorednsConnCacheHits, catalogue.CorednsConnCacheMisses,
	catalogue.CorednsMaxConcurrentRejects, catalogue.CorednsPanics,
}

// coreDNSProcess is one process whose page is read. Everything except what mu guards belongs to the loop.
type coreDNSProcess struct {
	process  *procwatch.Process
	due      time.Time
	tries    int
	server   *dnsServer // for which its counters are recorded
	last     [len(coreDNSMetricIDs)]float64
	readings atomic.Uint64

	mu    sync.Mutex
	fresh bool // not recorded yet
	slots [len(coreDNSMetricIDs)]batch.Slot
	grown [len(coreDNSMetricIDs)]float64 // NaN: nothing is known
}

func newCoreDNSProcess(process *procwatch.Process, proc string) *coreDNSProcess {
	p := &coreDNSProcess{process: process, due: time.Now().Add(gometrics.FindFirst)}
	if age, ok := procwatch.Age(proc, process.StartTicks); !ok || age > procwatch.Young {
		for i := range p.last {
			p.last[i] = math.NaN()
		}
	}
	return p
}

// count records the increase since the last scrape.
func (p *coreDNSProcess) count(registry *sampler.Registry, server *dnsServer, sample *gometrics.Sample) {
	values := coreDNSValues(&sample.CoreDNS)
	var slots [len(coreDNSMetricIDs)]batch.Slot
	moved := server != p.server
	if moved {
		for i, metric := range coreDNSMetricIDs {
			slots[i] = registry.Series(server.Resource(), metric)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if moved {
		p.server, p.slots = server, slots
	}
	for i, value := range values {
		grown := value - p.last[i]
		if !(grown >= 0) {
			grown = math.NaN() // the first scrape of an old process, or not a counter of this release
		}
		p.last[i] = value
		if p.fresh && !math.IsNaN(p.grown[i]) && !math.IsNaN(grown) {
			grown += p.grown[i] // no tick was sampled in between
		}
		p.grown[i] = grown
	}
	p.fresh = true
	p.readings.Add(1)
}

// record writes what was read since the last tick. Sample calls it.
func (p *coreDNSProcess) record(recorder *sampler.Recorder) {
	if !p.mu.TryLock() {
		return // being written: wait for the next tick
	}
	defer p.mu.Unlock()
	if !p.fresh {
		return
	}
	p.fresh = false
	for i, slot := range p.slots {
		if !math.IsNaN(p.grown[i]) {
			recorder.Set(slot, p.grown[i])
		}
	}
}
