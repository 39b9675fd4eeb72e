package runtime

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/hsperf"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

func names(collectors []*hsperf.Collector) (all []string) {
	for _, collector := range collectors {
		all = append(all, collector.Name)
	}
	return all
}

// describeJVM records what a JVM reports about itself.
func describeJVM(registry *sampler.Registry, watched *procwatch.Process, o *opening, collectors []string) {
	describe(registry, watched, "jvm", o.layout.Version(o.data), hsperf.Governing(o.layout.Arguments(o.data)))
	registry.Fact(watched.Resource, "runtime.gc_kind", strings.Join(collectors, ", "))
	if count := hsperf.Processors(o.layout.Arguments(o.data)); count != "" {
		registry.Fact(watched.Resource, "runtime.cpus", count)
	}
}

// describeByCommandLine records what is known about a JVM that shares nothing.
func describeByCommandLine(registry *sampler.Registry, watched *procwatch.Process) {
	directory := filepath.Join(registry.Roots.Proc, strconv.Itoa(watched.PID))
	cmdline, _ := os.ReadFile(filepath.Join(directory, "cmdline"))
	environ, _ := os.ReadFile(filepath.Join(directory, "environ"))
	describe(registry, watched, "jvm", "", hsperf.Governing(hsperf.CommandLine(cmdline, environ)))
}

// describe records which runtime a process has, and the options that govern it.
func describe(registry *sampler.Registry, watched *procwatch.Process, name, version string, options []string) {
	registry.Fact(watched.Resource, "runtime.name", name)
	if version != "" {
		registry.Fact(watched.Resource, "runtime.version", version)
	}
	if options == nil {
		options = []string{} // none is known for certain
	}
	if list, err := json.Marshal(options); err == nil {
		registry.Fact(watched.Resource, "runtime.options", string(list))
	}
}
