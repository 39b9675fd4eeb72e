package all

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/source"
)

// files returns the Go files below a folder with their content, either tests or the others.
func files(t *testing.T, pattern string, tests bool) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	found := make(map[string]string)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") != tests {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[path] = string(text)
	}
	return found
}

var registers = regexp.MustCompile(`source\.Register\("(\w+)"`)

// TestEverySourceIsKnown: a folder missing from the imports would silently be left out of the collector.
func TestEverySourceIsKnown(t *testing.T) {
	var written []string
	for path, text := range files(t, "../*/*.go", false) {
		for _, found := range registers.FindAllStringSubmatch(text, -1) {
			written = append(written, found[1])
			if base := filepath.Base(path); base != found[1]+".go" {
				t.Errorf("the source %s is in %s", found[1], base)
			}
		}
	}
	slices.Sort(written)
	if names := source.Names(); !slices.Equal(names, written) || len(names) < 30 {
		t.Errorf("the collector has %v, the folders %v", names, written)
	}
}

func TestSourcesRunInAnOrder(t *testing.T) {
	sources, err := source.New(func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	at := make(map[string]int)
	for i, one := range sources {
		at[one.Name()] = i
	}
	if len(at) != len(source.Names()) {
		t.Errorf("%d names of %d sources", len(at), len(source.Names()))
	}
	// What one source reads from the same tick of the other, or its start from the other's start.
	for _, pair := range [][2]string{
		{"cgroup_cpu", "dns_capture"}, {"cgroup_cpu", "self"}, {"cgroup_cpu", "tcp_requests"}, {"dentry_state", "failed_lookups"}, {"cgroup_memory", "cgroup_reclaim"},
		{"dns_capture", "dns_tcp"}, {"dns_capture", "dns_names"}, {"dns_capture", "dns_settings"}, {"dns_capture", "dnsmasq_counters"},
	} {
		if before, ok := at[pair[0]]; !ok || before >= at[pair[1]] {
			t.Errorf("%s does not run before %s", pair[0], pair[1])
		}
	}
}

// TestEverySourceHasATest: next to it, on fake file systems, or against the kernel in internal/livetest.
func TestEverySourceHasATest(t *testing.T) {
	beside := make(map[string]bool)
	for path, text := range files(t, "../*/*_test.go", true) {
		if strings.Contains(text, "sourcetest.Start(") {
			beside[strings.TrimSuffix(filepath.Base(path), "_test.go")] = true
		}
	}
	live := ""
	for _, text := range files(t, "../../livetest/*_test.go", true) {
		live += text
	}
	for _, name := range source.Names() {
		observed, err := regexp.MatchString(`"[^"\n]*\b`+name+`\b[^"\n]*"`, live)
		if err != nil {
			t.Fatal(err)
		}
		if !beside[name] && !observed {
			t.Errorf("%s has neither a test beside it nor one in internal/livetest", name)
		}
	}
}
