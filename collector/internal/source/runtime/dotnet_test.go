package runtime

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestDotNet(t *testing.T) {
	const library = "7f3949a00000-7f3949c4e000 r-xp 00000000 fe:00 11111870 %s/libcoreclr.so\n"
	for name, c := range map[string]struct{ folder, config, version, options string }{
		"an installed runtime": {
			"/usr/share/dotnet/shared/Microsoft.NETCore.App/3.1.23", "netcore-3.1.json", "3.1.23",
			`["System.GC.Concurrent=true","System.GC.Server=true","DOTNET_GCHeapCount=2"]`,
		},
		"a runtime of its own": {
			"/app", "self-contained.json", "8.0.4", `["System.GC.Server=true","System.Threading.ThreadPool.MinThreads=4","DOTNET_GCHeapCount=2"]`,
		},
		"no settings": {"/app", "", "", `["DOTNET_GCHeapCount=2"]`},
	} {
		t.Run(name, func(t *testing.T) {
			proc := t.TempDir()
			pid, _ := sourcetest.AddProcess(t, proc, "unbound", "/") // a name that is watched
			file := func(name string) string { return fmt.Sprintf("%d/%s", pid, name) }
			sourcetest.Write(t, proc, file("maps"), fmt.Sprintf(library, c.folder))
			sourcetest.Write(t, proc, file("environ"), "DOTNET_GCHeapCount=2\x00SECRET=1\x00")
			sourcetest.Write(t, proc, file("cmdline"), "unbound\x00")
			if c.config != "" {
				sourcetest.Write(t, proc, file("root/bin/unbound.runtimeconfig.json"), "@../../dotnetconfig/testdata/"+c.config)
			}
			r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&dotnet{}}})
			r.Ticks(2)
			for fact, want := range map[string]string{
				"runtime.name": "dotnet", "runtime.version": c.version, "runtime.options": c.options, "runtime.gc_source": "",
			} {
				if got := r.Fact(sourcetest.ProcessKey(), fact); got != want {
					t.Errorf("%s is %q", fact, got)
				}
			}
		})
	}
}

func TestOtherProgramsAreNotDotNet(t *testing.T) {
	proc := t.TempDir()
	pid, _ := sourcetest.AddProcess(t, proc, "unbound", "/")
	sourcetest.Write(t, proc, filepath.Join(fmt.Sprint(pid), "maps"), "7f0000000000-7f0000001000 r-xp 00000000 fe:00 7 /usr/lib/libc.so.6\n")
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{&dotnet{}}})
	r.Ticks(2)
	if got := r.Fact(sourcetest.ProcessKey(), "runtime.name"); got != "" || r.Status("dotnet") != "ACTIVE" {
		t.Errorf("it is a %q, %s", got, r.Status("dotnet"))
	}
}
