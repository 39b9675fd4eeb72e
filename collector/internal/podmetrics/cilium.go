package podmetrics

import (
	"io"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/gometrics"
)

// regeneration is the family of Cilium's endpoint regenerations. Scopes by release (pkg/endpoint/metrics.go and
// pkg/datapath/loader/metrics of Cilium): total, bpfCompilation, bpfWaitForELF and bpfLoadProg in all, bpfWriteELF in
// old ones. It was first labeled by scope alone, then by status too: failures are left out. bpfWaitForELF is ignored:
// the endpoint that waits for a template and the one that compiles it would count twice.
const regeneration = "cilium_endpoint_regeneration_time_stats_seconds"

var ciliumFamilies = []family{
	{phase: CNI, name: regeneration, label: "scope", value: values("total")},
	{phase: BPFLoad, name: regeneration, label: "scope", value: values("bpfLoadProg")},
	{phase: BPFCompile, name: regeneration, label: "scope", value: values("bpfCompilation")},
}

// notHit is the bound (s) below which a scope was not entered: old releases observe 0 for each scope of each
// regeneration, newer ones leave these out. No program is compiled or loaded that fast.
const notHit = 0.005

// Cilium reads the page of a cilium-agent.
func Cilium(page io.Reader, at time.Time) (*Reading, error) {
	reading, err := parse(page, at, ciliumFamilies, func(r *Reading, name string, labels, _ []byte) {
		if name == "cilium_version" { // since 1.14
			r.Present = true
			r.Version = string(gometrics.Label(labels, "version"))
		}
		r.Present = r.Present || strings.HasPrefix(name, "cilium_endpoint_")
	})
	for _, phase := range []Phase{BPFLoad, BPFCompile} {
		reading.Histograms[phase] = reading.Histograms[phase].without(notHit)
	}
	return reading, err
}

// without removes the values up to a bound.
func (h *Histogram) without(bound float64) *Histogram {
	if h == nil || len(h.Bounds) == 0 || h.Bounds[0] > bound {
		return h
	}
	left := &Histogram{Bounds: h.Bounds, Cumulative: make([]float64, len(h.Bounds)), Sum: h.Sum}
	for i := range h.Bounds {
		left.Cumulative[i] = h.Cumulative[i] - h.Cumulative[0]
	}
	return left
}
