package runtime

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/probes"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
	"github.com/jitterscope/jitterscope/collector/internal/symbols"
)

func init() { source.Register("nodejs_gc", func() sampler.Source { return &probed{runtime: nodeJS} }) }

// nodeJS has these two functions of V8, which it calls around the part of each collection that pauses a JavaScript
// thread (heap.cc, Heap::CollectGarbage), and where marking begins concurrently with the program
// (IncrementalMarking::StartMarkingMajor). Earlier versions have them with other parameters, and other numbers for the
// kinds of collections.
var nodeJS = runtimeKind{
	source: "nodejs_gc", name: "nodejs", gcSource: "uprobe", find: findNodeJS, collector: v8Collector, namesEnd: true,
	marks: v8Marks, marked: v8MarkCompact,
}

const (
	v8Prologue = "_ZN2v88internal4Heap23CallGCPrologueCallbacksENS_6GCTypeENS_15GCCallbackFlagsENS0_8GCTracer5Scope7ScopeIdE"
	v8Epilogue = "_ZN2v88internal4Heap23CallGCEpilogueCallbacksENS_6GCTypeENS_15GCCallbackFlagsENS0_8GCTracer5Scope7ScopeIdE"
)

const v8MarkCompact = "mark-sweep-compact"

// v8Marks reports whether a v8::GCType is the start of incremental and concurrent marking, which a mark-compact ends.
func v8Marks(argument uint64) bool { return uint32(argument) == 8 }

// v8Collector names a v8::GCType (v8-callbacks.h). The callbacks of weak references call the functions too, and are not
// collections.
func v8Collector(argument uint64) (string, bool) {
	switch uint32(argument) {
	case 1:
		return "scavenge", true
	case 2:
		return "minor mark-sweep", true
	case 4:
		return v8MarkCompact, true
	}
	return "", false
}

var (
	nodeName      = regexp.MustCompile(`^node(js)?[0-9.]*$`)
	nodeGoverning = regexp.MustCompile(`^--(max-old-space-size|max-semi-space-size|min-semi-space-size|initial-old-space-size|` +
		`semi-space-growth-factor|max-heap-size|initial-heap-size|v8-pool-size|stack-size)=[0-9.]+$|` +
		`^--(single-threaded|single-threaded-gc|optimize-for-size|optimize-for-memory|expose-gc|lite-mode|jitless)$`)
)

const nodeRelease = "https://nodejs.org/download/release/v"

func findNodeJS(proc string, watched *procwatch.Process) (found program, err error) {
	directory := filepath.Join(proc, strconv.Itoa(watched.PID))
	switch library, err := mapped(proc, watched.PID, "libnode.so"); {
	case nodeName.MatchString(watched.Executable):
		found.file = directory + "/exe"
		if library != "" { // as Debian builds it
			found.file = directory + "/root" + library
		}
	case err != nil || library == "":
		return found, errOther
	default:
		found.file = directory + "/root" + library
	}
	found.options = nodeOptions(directory)
	file, err := os.Open(found.file)
	if err != nil {
		return found, err
	}
	defer func() { _ = file.Close() }()
	if following, err := symbols.SearchData(file, nodeRelease, 32); err == nil {
		found.version, _, _ = strings.Cut(following, "/")
	}
	there, err := symbols.FindExported(file, v8Prologue, v8Epilogue)
	if err != nil {
		return found, err
	}
	for _, name := range []string{v8Prologue, v8Epilogue} {
		found.places = append(found.places, probes.Place{Name: name, Offset: there[name].Offset, Argument: probes.SecondOfABI})
	}
	found.means = []meaning{begins, ends}
	if len(there) < 2 {
		return found, errNotProbed
	}
	return found, nil
}

// nodeOptions are the options that govern heap and threads. V8 accepts _ for -.
func nodeOptions(directory string) (options []string) {
	add := func(word string) {
		name, value, has := strings.Cut(word, "=")
		word = strings.ReplaceAll(name, "_", "-")
		if has {
			word += "=" + value
		}
		if nodeGoverning.MatchString(word) {
			options = append(options, word)
		}
	}
	environ, _ := os.ReadFile(filepath.Join(directory, "environ"))
	for variable := range strings.SplitSeq(string(environ), "\x00") {
		switch name, value, _ := strings.Cut(variable, "="); name {
		case "NODE_OPTIONS":
			for _, word := range strings.Fields(value) {
				add(word)
			}
		case "UV_THREADPOOL_SIZE":
			if _, err := strconv.Atoi(value); err == nil {
				options = append(options, variable)
			}
		}
	}
	cmdline, _ := os.ReadFile(filepath.Join(directory, "cmdline"))
	words := strings.Split(string(cmdline), "\x00")
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") {
			break // the program and its own options
		}
		add(word)
	}
	return options
}
