package runtime

import (
	"encoding/binary"
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

func init() { source.Register("python_gc", func() sampler.Source { return &probed{runtime: cPython} }) }

// cPython has static probe points where a collection begins and ends, if it was built with them (--with-dtrace, as in
// distributions). The thread that collects holds the interpreter's lock.
var cPython = runtimeKind{source: "python_gc", name: "python", gcSource: "usdt", find: findPython, collector: pythonCollector}

// pythonCollector names the generation, the argument of gc__start.
func pythonCollector(argument uint64) (string, bool) {
	switch uint32(argument) {
	case 0:
		return "generation 0", true
	case 1:
		return "generation 1", true
	case 2:
		return "generation 2", true
	}
	return "", true
}

var (
	pythonName    = regexp.MustCompile(`^python([23](\.[0-9]+)?)?$`)
	pythonLibrary = regexp.MustCompile(`^libpython(3\.[0-9]+)\w*\.so`)
)

func findPython(proc string, watched *procwatch.Process) (found program, err error) {
	directory := filepath.Join(proc, strconv.Itoa(watched.PID))
	switch library, err := mapped(proc, watched.PID, "libpython3"); {
	case err != nil:
		return found, err
	case library != "":
		found.file = directory + "/root" + library
		found.embedded = !pythonName.MatchString(watched.Executable)
		if m := pythonLibrary.FindStringSubmatch(filepath.Base(library)); m != nil {
			found.version = m[1]
		}
	case pythonName.MatchString(watched.Executable):
		found.file = directory + "/exe"
		found.version = strings.TrimPrefix(watched.Executable, "python")
	default:
		return found, errOther
	}
	file, err := os.Open(found.file)
	if err != nil {
		return found, err
	}
	defer func() { _ = file.Close() }()
	if version := pythonVersion(file); version != "" {
		found.version = version
	}
	found.places, found.means, err = staticPlaces(file, "python", map[string]meaning{"gc__start": begins, "gc__done": ends})
	return found, err
}

// pythonVersion reads the interpreter's version: since 3.11 in Py_Version, one byte each of major, minor and micro.
func pythonVersion(file *os.File) string {
	there, err := symbols.FindExported(file, "Py_Version")
	at, ok := there["Py_Version"]
	if err != nil || !ok {
		return ""
	}
	var value [8]byte
	if _, err := file.ReadAt(value[:], int64(at.Offset)); err != nil {
		return ""
	}
	number := binary.LittleEndian.Uint64(value[:])
	return fmt.Sprintf("%d.%d.%d", number>>24&0xff, number>>16&0xff, number>>8&0xff)
}
