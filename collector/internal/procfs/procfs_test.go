package procfs

import (
	"os"
	"path/filepath"
	"testing"
)

func capture(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "linux-6.18", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestHostCPU(t *testing.T) {
	cpu, ok := ParseHostCPU(capture(t, "stat"))
	want := HostCPU{UserUS: (160326 + 56868) * 10000, SystemUS: 54222 * 10000, IRQUS: 1489 * 10000, IdleUS: 761960 * 10000, IOWaitUS: 1378 * 10000, StealUS: 264 * 10000}
	if !ok || cpu != want {
		t.Errorf("got %+v %v\nwant %+v", cpu, ok, want)
	}
	if _, ok := ParseHostCPU([]byte("cpu 1 2")); ok {
		t.Error("two columns are too few")
	}
	if old, ok := ParseHostCPU([]byte("cpu  1 2 3 4\n")); !ok || old.IdleUS != 40000 || old.StealUS != 0 {
		t.Errorf("four columns: %+v %v", old, ok)
	}
}

func TestRunnable(t *testing.T) {
	if running, ok := ParseRunnable(capture(t, "loadavg")); running != 3 || !ok {
		t.Errorf("%d %v", running, ok)
	}
	for _, text := range []string{"", "1 2 3", "1 2 3 x/5", "1 2 3 4"} {
		if _, ok := ParseRunnable([]byte(text)); ok {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestPressure(t *testing.T) {
	for name, want := range map[string]Pressure{
		"pressure_cpu": {743073450, 0, true}, "pressure_io": {16525854, 9577633, true}, "pressure_memory": {3145, 590, true},
	} {
		if got, ok := ParsePressure(capture(t, name)); got != want || !ok {
			t.Errorf("%s: %+v %v", name, got, ok)
		}
	}
	if got, ok := ParsePressure([]byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n")); !ok || got.HasFull || got.SomeUS != 9 {
		t.Errorf("before Linux 5.13: %+v %v", got, ok)
	}
	if _, ok := ParsePressure(nil); ok {
		t.Error("an empty file has no pressure")
	}
}

func TestResidentPages(t *testing.T) {
	if pages, ok := ParseResidentPages(capture(t, "statm")); pages != 432 || !ok {
		t.Errorf("%d %v", pages, ok)
	}
}

func TestHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 16)
	for _, text := range []string{"one", "second"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := held.Read(buffer); !ok || string(got) != text {
			t.Errorf("read %q %v, want %q", got, ok, text)
		}
	}
	held.Close()
	held.Close()
	if _, ok := held.Read(buffer); ok || held.Open() {
		t.Error("a closed file was read")
	}
	if HoldIfExists(path + "-none").Open() {
		t.Error("a missing file is open")
	}
}

func FuzzParsers(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		ParseHostCPU(text)
		ParseRunnable(text)
		ParsePressure(text)
		ParseResidentPages(text)
	})
}
