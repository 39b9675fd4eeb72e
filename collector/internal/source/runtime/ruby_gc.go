package runtime

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
	"github.com/jitterscope/jitterscope/collector/internal/symbols"
)

func init() { source.Register("ruby_gc", func() sampler.Source { return &probed{runtime: cRuby} }) }

// cRuby has static probe points around what gc.c calls marking and sweeping, if dtrace was there when it was built, as in
// Debian. Around marking in steps there is none: see lazyHeap.
var cRuby = runtimeKind{source: "ruby_gc", name: "ruby", gcSource: "usdt", find: findRuby, lazy: true}

var rubyPoints = map[string]meaning{
	"gc__mark__begin": begins, "gc__mark__end": ends, "gc__sweep__begin": sweepBegins, "gc__sweep__end": sweepEnds,
}

var (
	rubyName    = regexp.MustCompile(`^ruby([0-9.]+)?$`)
	rubyLibrary = regexp.MustCompile(`^libruby(-[0-9.]+)?\.so`)
	// Documented in ruby(1); WEB_CONCURRENCY, RAILS_MAX_THREADS, and PUMA_MAX_THREADS set the workers and threads of Puma.
	rubyGoverning = regexp.MustCompile(`^(RUBY_GC_[A-Z0-9_]+|RUBY_MAX_CPU|RUBY_MN_THREADS|RUBY_YJIT_ENABLE|MALLOC_ARENA_MAX|` +
		`WEB_CONCURRENCY|RAILS_MAX_THREADS|PUMA_MAX_THREADS)=[0-9.]+$|^RUBY_GC_LIBRARY=[a-z]+$`)
	rubySwitch = regexp.MustCompile(`^--(yjit|zjit|rjit|mjit|jit)$|^--yjit-(exec-)?mem-size=[0-9]+$`)
)

func findRuby(proc string, watched *procwatch.Process) (found program, err error) {
	directory := filepath.Join(proc, strconv.Itoa(watched.PID))
	library, err := mapped(proc, watched.PID, "libruby")
	if err != nil {
		return found, err
	}
	isRuby := rubyName.MatchString(watched.Executable)
	switch {
	case rubyLibrary.MatchString(filepath.Base(library)):
		found.file = directory + "/root" + library
		found.embedded = !isRuby
	case isRuby:
		found.file = directory + "/exe"
	default:
		return found, errOther
	}
	found.options = rubyOptions(directory)
	file, err := os.Open(found.file)
	if err != nil {
		return found, err
	}
	defer func() { _ = file.Close() }()
	found.version = rubyVersion(file)
	if collector := otherCollector(found.options); collector != "" {
		return found, fmt.Errorf("%w: RUBY_GC_LIBRARY=%s", errNotProbed, collector)
	}
	found.places, found.means, err = staticPlaces(file, "ruby", rubyPoints)
	return found, err
}

// rubyVersion reads the exported text ruby_version.
func rubyVersion(file *os.File) string {
	there, err := symbols.FindExported(file, "ruby_version")
	at, ok := there["ruby_version"]
	if err != nil || !ok {
		return ""
	}
	var value [16]byte
	if _, err := file.ReadAt(value[:], int64(at.Offset)); err != nil {
		return ""
	}
	text, _, _ := bytes.Cut(value[:], []byte{0})
	return string(text)
}

// otherCollector is a garbage collector that is loaded instead of Ruby's own (since 3.4), and does not pass its points.
func otherCollector(options []string) string {
	for _, option := range options {
		if name, is := strings.CutPrefix(option, "RUBY_GC_LIBRARY="); is && name != "default" {
			return name
		}
	}
	return ""
}

// rubyOptions are the settings that govern heap, threads, workers, and compiler: variables, RUBYOPT, and switches before
// the script.
func rubyOptions(directory string) (options []string) {
	add := func(allowed *regexp.Regexp, words ...string) {
		for _, word := range words {
			if allowed.MatchString(word) {
				options = append(options, word)
			}
		}
	}
	environ, _ := os.ReadFile(filepath.Join(directory, "environ"))
	for variable := range strings.SplitSeq(string(environ), "\x00") {
		if value, is := strings.CutPrefix(variable, "RUBYOPT="); is {
			add(rubySwitch, strings.Fields(value)...)
		}
		add(rubyGoverning, variable)
	}
	cmdline, _ := os.ReadFile(filepath.Join(directory, "cmdline"))
	for _, word := range strings.Split(string(cmdline), "\x00")[1:] {
		if !strings.HasPrefix(word, "-") {
			break // the script and its own options
		}
		add(rubySwitch, word)
	}
	return options
}
