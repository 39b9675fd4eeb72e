package runtime

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/probes"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

// runtimeKind is what is specific to one runtime.
type runtimeKind struct {
	source   string // of the metric catalogue
	name     string // fact runtime.name
	gcSource string // fact runtime.gc_source
	// find returns where to probe a process. It returns errOther for one without the runtime.
	find func(proc string, watched *procwatch.Process) (program, error)
	// collector names what began; false: not a collection.
	collector func(argument uint64) (string, bool)
	namesEnd  bool // the argument at an end says what began
	// marks reports whether what began is the marking of a heap while the program runs, which a collection called
	// marked ends. nil: such a runtime does not mark, or its marking is not visible.
	marks  func(argument uint64) bool
	marked string
	// lazy: all threads have one heap, marked at once or in steps between allocations, and swept in steps afterwards.
	lazy bool
}

// meaning of reaching a place.
type meaning uint8

const (
	begins meaning = iota
	ends
	// Only of a runtime whose heap is swept lazily.
	sweepBegins
	sweepEnds
)

// program is what is known about a process with the runtime, as far as it is known even if there is an error.
type program struct {
	file    string // that it executes, by the path that the collector opens
	places  []probes.Place
	means   []meaning // by place
	version string
	options []string
	// embedded: another program that links the runtime, and might never start it (unbound has libpython for a module
	// that few load). It is described from its first collection on.
	embedded bool
}

var (
	errOther     = errors.New("another program")
	errNotProbed = errors.New("the program has no probe points")
	errTurnedOff = errors.New("turned off by probes = false")
)

// mapped returns the path of a library that a process has mapped, by the beginning of its name; "" if there is none.
func mapped(proc string, pid int, prefix string) (path string, err error) {
	err = procfs.EachMapping(proc, pid, func(m procfs.Mapping) bool {
		if strings.HasPrefix(filepath.Base(m.Path), prefix) {
			path = m.Path
		}
		return path == ""
	})
	return path, err
}
