package runtime

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/jitterscope/jitterscope/collector/internal/dotnetconfig"
	"github.com/jitterscope/jitterscope/collector/internal/procroot"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("dotnet", func() sampler.Source { return &dotnet{} }) }

// dotnet records what is certain about .NET processes without touching them: that they are some, and their settings.
// When they collect is not visible from outside: see docs/runtimes.md.
type dotnet struct {
	registry  *sampler.Registry
	watcher   *procwatch.Watcher
	processes seeker[struct{}]
}

const coreCLR = "libcoreclr.so"

// installed is the folder of a runtime that applications share: …/shared/Microsoft.NETCore.App/8.0.4.
var installed = regexp.MustCompile(`/shared/Microsoft\.NETCore\.App/([0-9][^/]*)/` + regexp.QuoteMeta(coreCLR) + `$`)

func (d *dotnet) Name() string { return "dotnet" }

func (d *dotnet) Start(_ context.Context, registry *sampler.Registry) error {
	d.registry, d.watcher = registry, procwatch.Shared(registry)
	d.processes.registry, d.processes.look, d.processes.shut = registry, d.look, func(*struct{}) {}
	d.watcher.Subscribe(d.processes.change)
	return nil
}

func (d *dotnet) Discover(ctx context.Context) {
	d.watcher.Refresh(ctx)
	d.processes.discover()
}

// look describes a process that has loaded the runtime. A single file that contains it is not recognized.
func (d *dotnet) look(watched *procwatch.Process) (*struct{}, bool) {
	library, err := mapped(d.registry.Roots.Proc, watched.PID, coreCLR)
	if err != nil || library == "" {
		return nil, false
	}
	directory := filepath.Join(d.registry.Roots.Proc, strconv.Itoa(watched.PID))
	config := d.config(watched.PID, directory)
	version := config.Version
	if m := installed.FindStringSubmatch(library); m != nil {
		version = m[1]
	}
	environ, _ := os.ReadFile(filepath.Join(directory, "environ"))
	describe(d.registry, watched, "dotnet", version, append(config.Options, dotnetconfig.Environment(environ)...))
	return nil, true
}

func (d *dotnet) config(pid int, directory string) (config dotnetconfig.Config) {
	cmdline, _ := os.ReadFile(filepath.Join(directory, "cmdline"))
	executable, err := os.Readlink(filepath.Join(directory, "exe"))
	if err != nil {
		return config
	}
	file := dotnetconfig.File(cmdline, executable)
	if file == "" {
		return config
	}
	text, err := procroot.ReadFile(d.registry.Roots.Proc, pid, file, dotnetconfig.FileMost)
	if err != nil {
		return config
	}
	config, _ = dotnetconfig.Parse(text)
	return config
}

func (d *dotnet) Sample(sampler.Tick, *sampler.Recorder) {}

func (d *dotnet) Close() error { return nil }
