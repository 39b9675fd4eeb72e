package dotnetconfig

import (
	"os"
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	environ := "SECRET=DOTNET_gcServer=1\x00DOTNET_gcServer=1\x00DOTNET_GCHeapHardLimit=0x1f4000\x00COMPlus_GCHeapCount=a\x00" +
		"DOTNET_PROCESSOR_COUNT=2\x00DOTNET_gcServer=secret\x00DOTNET_STARTUP_HOOKS=/secret.dll\x00"
	want := []string{"DOTNET_gcServer=1", "DOTNET_GCHeapHardLimit=0x1f4000", "COMPlus_GCHeapCount=a", "DOTNET_PROCESSOR_COUNT=2"}
	if got := Environment([]byte(environ)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestParse(t *testing.T) {
	for name, want := range map[string]Config{
		"netcore-3.1.json":         {"", []string{"System.GC.Concurrent=true", "System.GC.Server=true"}},
		"framework-dependent.json": {"", []string{"System.GC.Concurrent=false", "System.GC.HeapHardLimit=209715200", "System.GC.Server=true"}},
		"self-contained.json":      {"8.0.4", []string{"System.GC.Server=true", "System.Threading.ThreadPool.MinThreads=4"}},
	} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(text); err != nil || got.Version != want.Version || !slices.Equal(got.Options, want.Options) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := Parse([]byte("// not JSON")); err == nil {
		t.Error("no error")
	}
}

func TestFile(t *testing.T) {
	for _, c := range []struct{ cmdline, executable, want string }{
		{"dotnet\x00app.dll\x00--port\x001\x00", "/usr/share/dotnet/dotnet", "app.runtimeconfig.json"},
		{"dotnet\x00exec\x00--fx-version\x008.0.4\x00/srv/shop.dll\x00", "/usr/bin/dotnet", "/srv/shop.runtimeconfig.json"},
		{"dotnet\x00exec\x00--runtimeconfig\x00/etc/shop.json\x00/srv/shop.dll\x00", "/usr/bin/dotnet", "/etc/shop.json"},
		{"dotnet\x00run\x00", "/usr/bin/dotnet", ""},
		{"dotnet\x00", "/usr/bin/dotnet", ""},
		{"./shop\x00x.dll\x00", "/srv/shop", "/srv/shop.runtimeconfig.json"},
	} {
		if got := File([]byte(c.cmdline), c.executable); got != c.want {
			t.Errorf("%q: %q", c.cmdline, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"runtimeOptions":{"configProperties":{"System.GC.Server":true}}}`), []byte("dotnet\x00app.dll"))
	f.Fuzz(func(t *testing.T, text, cmdline []byte) {
		_, _ = Parse(text)
		Environment(text)
		File(cmdline, "/usr/bin/dotnet")
	})
}
