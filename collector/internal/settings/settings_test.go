package settings

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func parse(t *testing.T, environment map[string]string, arguments ...string) (*Settings, error) {
	t.Helper()
	lookup := func(name string) (string, bool) { value, ok := environment[name]; return value, ok }
	return Parse("run", arguments, lookup, io.Discard, nil)
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	file := configFile(t, "server = \"file\"\nspool_dir = \"file\"\nmax_cgroups = 7\ncpu_budget = 0.5\n")
	s, err := parse(t, map[string]string{"JITTERSCOPE_SERVER": "env", "JITTERSCOPE_SPOOL_DIR": "env", "JITTERSCOPE_CONFIG": file}, "--server", "flag")
	if err != nil {
		t.Fatal(err)
	}
	if s.Server != "flag" || s.SpoolDir != "env" || s.MaxCgroups != 7 || s.CPUBudget != 0.5 || s.CgroupRoot != "/sys/fs/cgroup" {
		t.Errorf("%+v", s)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for want, arguments := range map[string][]string{
		"sever":               {"--config", configFile(t, "sever = \"x\"\n")},
		"max_cgroups":         {"--config", configFile(t, "max_cgroups = \"many\"\n")},
		"no such file":        {"--config", "/nonexistent"},
		"unexpected argument": {"extra"},
		"-max-cgroups":        {"--max-cgroups", "x"},
	} {
		if _, err := parse(t, nil, arguments...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", arguments, err)
		}
	}
	if _, err := parse(t, map[string]string{"JITTERSCOPE_MAX_CGROUPS": "x"}); err == nil || !strings.Contains(err.Error(), "JITTERSCOPE_MAX_CGROUPS") {
		t.Errorf("environment: %v", err)
	}
}

func TestSourceOptions(t *testing.T) {
	s, err := parse(t, nil, "--config", configFile(t, "[sources.names]\nkubelet = \"off\"\n[sources.dns_probe]\nwrong = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	options := struct {
		Kubelet string `toml:"kubelet"`
		Docker  string `toml:"docker"`
	}{"auto", "kept"}
	if err := s.SourceOptions("names", &options); err != nil || options.Kubelet != "off" || options.Docker != "kept" {
		t.Errorf("%+v %v", options, err)
	}
	if err := s.SourceOptions("absent", &options); err != nil {
		t.Error(err)
	}
	var none struct{}
	if err := s.SourceOptions("dns_probe", &none); err == nil || !strings.Contains(err.Error(), "wrong") {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestSwitchedOffOptionsAreFalse(t *testing.T) {
	type options struct {
		ReadKinds  bool   `toml:"read_kinds"`
		ReadStatus bool   `toml:"read_status"`
		Text       string `toml:"text"`
	}
	s, err := parse(t, nil, "--config", configFile(t, "[sources.a]\nread_kinds = true\nread_status = false\n"))
	if err != nil {
		t.Fatal(err)
	}
	s.SwitchOff([]string{"a:later", "a:read_kinds", "a:text", "b", "c:read_status"})
	for name, want := range map[string]options{"a": {false, false, "t"}, "b": {true, true, "t"}, "c": {true, false, "t"}} {
		got := options{true, true, "t"}
		if err := s.SourceOptions(name, &got); err != nil || got != want {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	if !s.SwitchedOff("b") || s.SwitchedOff("a") || s.SwitchedOff("c") {
		t.Error("b alone is off as a whole")
	}
}

func TestEnabled(t *testing.T) {
	known := []string{"a", "b", "c"}
	for text, want := range map[string]string{"": "abc", "a,c": "ac", "-b": "ac", " b , ": "b", "a,b,-b": "a"} {
		enabled, err := (&Settings{Sources: text}).Enabled(known)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, name := range known {
			if enabled(name) {
				got += name
			}
		}
		if got != want {
			t.Errorf("%q turns on %q, want %q", text, got, want)
		}
	}
	if _, err := (&Settings{Sources: "d"}).Enabled(known); err == nil || !strings.Contains(err.Error(), "a, b, c") {
		t.Errorf("unknown source: %v", err)
	}
}

func TestExampleFile(t *testing.T) {
	s, err := parse(t, nil, "--config", "../../systemd/collector.example.toml")
	if err != nil || s.Server == "" {
		t.Errorf("%+v %v", s, err)
	}
}
