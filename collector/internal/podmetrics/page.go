package podmetrics

import (
	"io"
	"math"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/gometrics"
)

// Phase is one of the kept histograms.
type Phase int

// The phases in the order of the metric catalogue.
const (
	StartSLI       Phase = iota // without image pulls and init containers
	StartTotal                  // including all of them
	Sandbox                     // run_podsandbox, which calls the CNI plugin
	ImagePull                   // one image
	ContainerStart              // create_container and start_container: one operation
	Cgroup                      // one operation of the cgroup manager
	CNI                         // one endpoint regeneration of Cilium
	BPFLoad                     // part of it: loading programs into the kernel
	BPFCompile                  // part of it: compiling them
	Phases
)

// Reading is one scrape of a page.
type Reading struct {
	At         time.Time
	Present    bool   // the page belongs to the expected program
	Version    string // of the program, "" if the page does not say
	Started    time.Time
	Histograms [Phases]*Histogram
}

// family describes where a sample belongs: the histograms of a page that can hold one phase, best first, because a
// release can have several.
type family struct {
	phase Phase
	rank  int // the lower one is preferred if a page has both
	name  string
	label string          // whose values are filtered, "" for none
	value map[string]bool // those values
}

// maxRank is the number of families that one phase can come from.
const maxRank = 2

// parse reads a page; about is called with samples that belong to no family.
func parse(page io.Reader, at time.Time, families []family, about func(r *Reading, name string, labels, value []byte)) (*Reading, error) {
	byName := make(map[string][]int)
	for i, f := range families {
		byName[f.name+"_bucket"] = append(byName[f.name+"_bucket"], i)
		byName[f.name+"_sum"] = append(byName[f.name+"_sum"], i)
	}
	reading := &Reading{At: at}
	var found [Phases][maxRank]collect
	err := gometrics.EachSample(page, func(name, labels, text []byte) {
		indices, ok := byName[string(name)]
		if !ok {
			if string(name) == "process_start_time_seconds" {
				if seconds, ok := gometrics.Number(text); ok {
					reading.Started = time.UnixMicro(int64(seconds * 1e6))
				}
			}
			about(reading, string(name), labels, text)
			return
		}
		value, ok := gometrics.Number(text)
		if !ok || math.IsNaN(value) {
			return
		}
		reading.Present = true
		for _, index := range indices {
			f := &families[index]
			if f.label != "" && !f.value[string(gometrics.Label(labels, f.label))] {
				continue
			}
			if string(gometrics.Label(labels, "status")) == "failure" {
				continue // 0 s if nothing failed
			}
			into := &found[f.phase][f.rank]
			if name[len(name)-1] == 'm' { // _sum
				into.sum += value
			} else if bound, ok := gometrics.Number(gometrics.Label(labels, "le")); ok && value >= 0 {
				into.bucket(bound, value)
			}
		}
	})
	for phase := range found {
		for rank := range found[phase] {
			if h := found[phase][rank].histogram(); h != nil && reading.Histograms[phase] == nil {
				reading.Histograms[phase] = h
			}
		}
	}
	return reading, err
}

func values(names ...string) map[string]bool {
	set := make(map[string]bool)
	for _, name := range names {
		set[name] = true
	}
	return set
}
