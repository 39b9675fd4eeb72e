package corefile

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var errNone = errors.New("there is none")

// files imports from a map, by path.
func files(texts map[string]string) Import {
	return func(from, pattern string) (found []File, err error) {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(filepath.Dir(from), pattern)
		}
		if name, ok := strings.CutSuffix(pattern, "*"); ok {
			if text, ok := texts[name]; ok {
				found = append(found, File{name, text})
			}
			return found, nil
		}
		text, ok := texts[pattern]
		if !ok {
			return nil, errNone
		}
		return []File{{pattern, text}}, nil
	}
}

func parse(t *testing.T, text string, imports map[string]string) (string, error) {
	t.Helper()
	blocks, err := Parse(File{"/etc/coredns/Corefile", text}, files(imports))
	encoded, errJSON := json.Marshal(blocks)
	if errJSON != nil {
		t.Fatal(errJSON)
	}
	return string(encoded), err
}

func TestWhatACorefileSays(t *testing.T) {
	t.Setenv("JITTERSCOPE_TOKEN", "the collector's secret")
	imports := map[string]string{
		"/etc/coredns/custom/a.override": "log\nimport deeper\n", "/etc/coredns/custom/deeper": "hosts",
		"/blocks": "x {\n whoami\n}\n",
	}
	for name, sample := range map[string]struct{ text, want string }{
		"forward": {
			". {\n forward . 10.0.0.1 {\n  max_concurrent 1000\n }\n}",
			`[{"zones":["."],"plugins":[{"name":"forward","args":[".","10.0.0.1"],"options":[["max_concurrent","1000"]]}]}]`,
		},
		"order, one plugin twice": {
			"a b, c:53 {\n errors\n forward a 1.1.1.1\n cache 30 { }\n forward b 2.2.2.2\n}",
			`[{"zones":["a","b","c:53"],"plugins":[{"name":"errors","args":[],"options":[]},{"name":"forward","args":["a","1.1.1.1"],"options":[]},` +
				`{"name":"cache","args":["30"],"options":[]},{"name":"forward","args":["b","2.2.2.2"],"options":[]}]}]`,
		},
		"no braces": {".:53\nwhoami\nlog", `[{"zones":[".:53"],"plugins":[{"name":"whoami","args":[],"options":[]},{"name":"log","args":[],"options":[]}]}]`},
		"snippets": {
			"(s) {\n errors\n cache {\n  disable denial\n }\n}\n. {\n log\n import s\n whoami\n}",
			`[{"zones":["."],"plugins":[{"name":"log","args":[],"options":[]},{"name":"errors","args":[],"options":[]},` +
				`{"name":"cache","args":[],"options":[["disable","denial"]]},{"name":"whoami","args":[],"options":[]}]}]`,
		},
		"snippet in a plugin": {
			"(o) {\n expire 1s\n}\n. {\n forward . 1.1.1.1 {\n  import o\n  force_tcp\n }\n}",
			`[{"zones":["."],"plugins":[{"name":"forward","args":[".","1.1.1.1"],"options":[["expire","1s"],["force_tcp"]]}]}]`,
		},
		"files, from where they are": {
			". {\n import custom/a.override\n import custom/*\n}\nimport /blocks",
			`[{"zones":["."],"plugins":[{"name":"log","args":[],"options":[]},{"name":"hosts","args":[],"options":[]}]},` +
				`{"zones":["x"],"plugins":[{"name":"whoami","args":[],"options":[]}]}]`,
		},
		"words": {
			". { # of all\n template IN A \"a \\\"b\\\" #c\" x#y\n tls { servername \"dns quad9\" }\n}",
			`[{"zones":["."],"plugins":[{"name":"template","args":["IN","A","a \"b\" #c","x"],"options":[]},` +
				`{"name":"tls","args":[],"options":[["servername","dns quad9"]]}]}]`,
		},
		"a quote over two lines": {
			". {\n template \"a\nb\" c\n log\n}",
			`[{"zones":["."],"plugins":[{"name":"template","args":["a\nb","c"],"options":[]},{"name":"log","args":[],"options":[]}]}]`,
		},
		"braces in braces": {
			". {\n x {\n  to {\n   1.1.1.1\n  }\n  more\n }\n}",
			`[{"zones":["."],"plugins":[{"name":"x","args":[],"options":[["to"],["more"]]}]}]`,
		},
		"the environment is not the collector's": {
			"{$ZONE} {\n forward . {$JITTERSCOPE_TOKEN} {%JITTERSCOPE_TOKEN%}\n}",
			`[{"zones":["{$ZONE}"],"plugins":[{"name":"forward","args":[".","{$JITTERSCOPE_TOKEN}","{%JITTERSCOPE_TOKEN%}"],"options":[]}]}]`,
		},
		"nothing": {"# nothing\n", `[]`},
	} {
		if got, err := parse(t, sample.text, imports); err != nil || got != sample.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, sample.want)
		}
	}
}

// TestNothingOfTheCollectorIsImported: the parser itself opens any file it is told to.
func TestNothingOfTheCollectorIsImported(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("topsecret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"import " + secret, ". {\n import " + secret + "\n}", ". { import " + secret + "\n}", ". {\n log { import " + secret + "\n }\n}",
		"\"import\" " + secret, ". {\n \"import\" " + secret + "\n}", "import " + secret + " {\n}", ". {\n}\nimport\n" + secret,
		"(x) {\n import " + secret + "\n}\n. {\n import x\n}", ". {\n \"\n\" import " + secret + "\n}",
		". {\n import\t\"" + secret + "\"\n}", "import " + filepath.Dir(secret) + "/s*et",
	} {
		got, err := parse(t, text, nil)
		if err == nil || strings.Contains(got, "topsecret") || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

func TestCorefilesThatAreRefused(t *testing.T) {
	bomb := "(a) {\n import b\n import b\n}\n(b) {\n import c\n import c\n}\n(c) {\n"
	for range 60 {
		bomb += " log\n"
	}
	bomb += "}\n"
	for text, want := range map[string]string{
		". {\n forward . 1.1.1.1 {\n":        "unexpected eof",
		". {\n log\n}\n}":                    "",
		"a,":                                 "unexpected eof",
		"(a) {\n log\n":                      "has no end",
		"(a) {\n}\n(a) {\n}":                 "defined twice",
		"(a) {\n import a\n}\n. {\nimport a": "200 imports",
		". {\n import gone\n}":               errNone.Error(),
		". {\n log import x\n}":              errImport.Error(),
		". {\n log \"a b\\\\\" \n}":          "",
		"\x01":                               "control characters",
	} {
		got, err := parse(t, text, nil)
		if want == "" {
			continue // only check that it terminates
		}
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
	if _, err := parse(t, bomb+". {\n"+strings.Repeat(" import a\n", 80)+"}", nil); !errors.Is(err, errTooLarge) {
		t.Errorf("a Corefile that grows: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("(a) {\n log\n}\n. {\n import a\n forward . {$X} {\n  max_concurrent 1\n }\n}")
	f.Add("a { b {\n c \"d\n {$X} {%Y%} {$")
	f.Add("0\nforward . 0 { {")
	f.Add("import x\n\"import\" y\n{%{%}%}{$}")
	f.Fuzz(func(t *testing.T, text string) {
		blocks, err := Parse(File{"/Corefile", text}, files(map[string]string{"/x": "log"}))
		if err != nil {
			return
		}
		for _, block := range blocks {
			for _, plugin := range block.Plugins {
				for _, option := range plugin.Options {
					if len(option) == 0 {
						t.Errorf("%q: an option without words", text)
					}
				}
			}
		}
	})
}
