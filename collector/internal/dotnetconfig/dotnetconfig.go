// Package dotnetconfig reads the settings that a .NET process was started with: environment, command line, and the
// runtimeconfig.json of its application.
//
// https://learn.microsoft.com/en-us/dotnet/core/runtime-config/
package dotnetconfig

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// FileMost bounds what is read of a runtimeconfig.json.
const FileMost = 256 << 10

var (
	// Numbers are hexadecimal here and decimal in the file. COMPlus_ is the prefix before .NET 6.
	variable = regexp.MustCompile(`^(?:DOTNET|COMPlus)_(?i:gcServer|gcConcurrent|GCHeapCount|GCNoAffinitize|GCHeapAffinitizeMask|GCHeapHardLimit|` +
		`GCHeapHardLimitPercent|GCConserveMemory|GCgen0size|GCDynamicAdaptationMode|GCRetainVM|PROCESSOR_COUNT|` +
		`Thread_UseAllCpuGroups|ThreadPool_ForceMinWorkerThreads|ThreadPool_ForceMaxWorkerThreads)=(?:0[xX])?[0-9a-fA-F]{1,16}$`)
	property = regexp.MustCompile(`^System\.(GC\.(Server|Concurrent|HeapCount|NoAffinitize|HeapAffinitizeMask|HeapHardLimit|HeapHardLimitPercent|` +
		`ConserveMemory|Gen0Size|DynamicAdaptationMode|RetainVM)|Threading\.ThreadPool\.(MinThreads|MaxThreads))$`)
	number = regexp.MustCompile(`^[0-9.]{1,20}$`)
)

// Environment returns the variables that govern heap, collector, threads, and CPUs, as they are in /proc/PID/environ.
func Environment(environ []byte) (options []string) {
	for one := range strings.SplitSeq(string(environ), "\x00") {
		if variable.MatchString(one) {
			options = append(options, one)
		}
	}
	return options
}

// Config is what a runtimeconfig.json says.
type Config struct {
	Version string   // of the runtime that is part of the application; "" if it uses an installed one
	Options []string // the properties that govern heap, collector, and threads, as NAME=VALUE
}

// Parse reads a runtimeconfig.json.
func Parse(text []byte) (c Config, err error) {
	var file struct {
		RuntimeOptions struct {
			IncludedFrameworks []struct{ Name, Version string }
			ConfigProperties   map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return c, err
	}
	for _, framework := range file.RuntimeOptions.IncludedFrameworks {
		if framework.Name == "Microsoft.NETCore.App" {
			c.Version = framework.Version
		}
	}
	for name, raw := range file.RuntimeOptions.ConfigProperties {
		value := strings.ToLower(strings.Trim(string(raw), `"`))
		if property.MatchString(name) && (value == "true" || value == "false" || number.MatchString(value)) {
			c.Options = append(c.Options, name+"="+value)
		}
	}
	slices.Sort(c.Options)
	return c, nil
}

// valued are the options of `dotnet` that take the next word.
var valued = []string{
	"--additional-deps", "--additionalprobingpath", "--depsfile", "--fx-version", "--roll-forward", "--roll-forward-on-no-candidate-fx",
}

// File is the path of the runtimeconfig.json of a process, from its command line (as in /proc/PID/cmdline) and its executable;
// "" if they do not tell.
func File(cmdline []byte, executable string) string {
	words := strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
	if !strings.HasSuffix(executable, "/dotnet") { // the application's own host
		return executable + ".runtimeconfig.json"
	}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--runtimeconfig" && i+1 < len(words):
			return words[i+1]
		case slices.Contains(valued, word):
			i++
		case word == "exec" || strings.HasPrefix(word, "-"):
		case strings.HasSuffix(word, ".dll"):
			return strings.TrimSuffix(word, ".dll") + ".runtimeconfig.json"
		default:
			return "" // a command of the SDK
		}
	}
	return ""
}
