// Package source holds the samplers: one file each, named like the "source" of the metric catalogue.
package source

import (
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// The one package-level variable of the collector: a new source is one new file without an edit elsewhere, which Go
// offers only through init. It is written during init alone and holds constructors, no state.
var constructors = map[string]func() sampler.Source{}

// register is called by the init function of each source file.
func register(name string, construct func() sampler.Source) {
	if _, twice := constructors[name]; twice {
		panic("two sources are named " + name)
	}
	constructors[name] = construct
}

// Names lists all sources, sorted.
func Names() []string {
	names := make([]string, 0, len(constructors))
	for name := range constructors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// New makes the sources that enabled accepts, sorted by name.
func New(enabled func(name string) bool) []sampler.Source {
	var sources []sampler.Source
	for _, name := range Names() {
		if enabled(name) {
			sources = append(sources, constructors[name]())
		}
	}
	return sources
}
