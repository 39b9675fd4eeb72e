// Package source is where samplers register. The samplers themselves are in the folders below, one area each and one
// file for each source, named like the "source" of the metric catalogue.
package source

import (
	"maps"
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// registered is the one package-level variable of the collector: a new source is one new file without an edit elsewhere,
// which Go offers only through init. It is written during init alone and holds constructors, no state.
var registered = map[string]registration{}

type registration struct {
	construct func() sampler.Source
	after     []string
}

// Register is called by the init function of each source file. The source is started, told of cgroups, asked to discover,
// sampled and closed after those named in after, as far as they are enabled: whose values of the same tick it reads, or
// who has to be there first. Sources with nothing between them follow their names.
func Register(name string, construct func() sampler.Source, after ...string) {
	if _, twice := registered[name]; twice {
		panic("two sources are named " + name)
	}
	registered[name] = registration{construct, after}
}

// Names lists all sources by name.
func Names() []string { return slices.Sorted(maps.Keys(registered)) }

// New makes the sources that enabled accepts, in the order in which they are to run. It fails where sources name each other
// in a circle or name one that does not exist.
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
