package runtime

import (
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/handover"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// finishedCollection is a collection on its way from the sampling thread to the goroutine that makes events. The
// program was paused for all of it, or only after markingUS from the start.
type finishedCollection struct {
	resource       batch.ResourceID
	source         string
	startUS, endUS int64
	markingUS      int64
	collector      string
	cause          [48]byte
	causeLength    int
}

// finish turns the collections that ended since the last call into events, off the sampling thread.
func finish(ring *handover.Ring[finishedCollection], registry *sampler.Registry) {
	for {
		f, ok := ring.Take()
		if !ok {
			return
		}
		attributes := map[string]string{"source": f.source, "pause_us": strconv.FormatInt(f.endUS-f.startUS-f.markingUS, 10)}
		if f.markingUS > 0 {
			attributes["marking_us"] = strconv.FormatInt(f.markingUS, 10)
		}
		if f.collector != "" {
			attributes["collector"] = f.collector
		}
		if f.causeLength > 0 {
			attributes["cause"] = string(f.cause[:f.causeLength])
		}
		registry.Event(f.resource, "gc.cycle", f.startUS, f.endUS-f.startUS, attributes)
	}
}
