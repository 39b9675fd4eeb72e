package usdt

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// TestPoints compares with readelf on the interpreter of the distribution.
func TestPoints(t *testing.T) {
	file, err := os.Open("/usr/bin/python3")
	if err != nil {
		testenv.Skip(t, "needs the distribution's Python: %v", err)
	}
	defer func() { _ = file.Close() }()
	points, err := Points(file)
	if errors.Is(err, ErrNone) {
		testenv.Skip(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("readelf", "-n", "/usr/bin/python3").Output()
	if err != nil {
		testenv.Skip(t, "needs readelf: %v", err)
	}
	if want := strings.Count(string(text), "Provider: "); len(points) != want {
		t.Errorf("%d points, readelf has %d", len(points), want)
	}
	names := make(map[string]int)
	for _, point := range points {
		names[point.Name]++
		code := make([]byte, 1)
		if _, err := file.ReadAt(code, int64(point.Offset)); err != nil || code[0] != 0x90 && point.Semaphore == 0 {
			t.Errorf("%s at %#x: % x, %v", point.Name, point.Offset, code, err)
		}
		if !strings.Contains(string(text), "Arguments: "+point.Arguments) {
			t.Errorf("%s has the arguments %q", point.Name, point.Arguments)
		}
	}
	for _, name := range []string{"gc__start", "gc__done"} {
		if names[name] == 0 || strings.Count(string(text), "Name: "+name) != names[name] {
			t.Errorf("%d of %s", names[name], name)
		}
	}
}

func TestPointsOfOthers(t *testing.T) {
	if _, err := Points(strings.NewReader(strings.Repeat("no program", 100))); err == nil {
		t.Error("accepted")
	}
	own, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	if _, err := Points(own); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

func FuzzPoints(f *testing.F) {
	if own, err := os.ReadFile("/usr/bin/true"); err == nil {
		f.Add(own)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Points(strings.NewReader(string(data))) })
}
