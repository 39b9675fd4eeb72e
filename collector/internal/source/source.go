// Package source is where samplers register. The samplers themselves are in the folders below, one area each and one
// file per source, named after the "source" of the metric catalogue.
package source

import (
	"maps"
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// registered is the only package-level variable of the collector that is written to: a new source is one new file
// without an edit elsewhere, which Go offers only through init. It is written only during init and holds constructors,
// no state.
var registered = map[string]registration{}

type registration struct {
	construct func() sampler.Source
	after     []string
}

// Register is called by the init function of each source file. The source is started, notified of cgroups, asked to
// discover, sampled and closed after those named in after, if they are enabled: those whose values of the same tick it
// reads, or which must come first. Independent sources are ordered by name.
func Register(name string, construct func() sampler.Source, after ...string) {
	if _, twice := registered[name]; twice {
		panic("two sources are named " + name)
	}
	registered[name] = registration{construct, after}
}

// Names lists all sources by name.
func Names() []string { return slices.Sorted(maps.Keys(registered)) }

// New creates the sources that enabled accepts, in the order in which they run. It fails if sources refer to each other
// in a circle or to one that does not exist.
func New(enabled func(name string) bool) ([]sampler.Source, error) {
	after := make(map[string][]string, len(registered))
	for name, r := range registered {
		after[name] = r.after
	}
	order, err := inOrder(after)
	if err != nil {
		return nil, err
	}
	var sources []sampler.Source
	for _, name := range order {
		if enabled(name) {
			sources = append(sources, registered[name].construct())
		}
	}
	return sources, nil
}
