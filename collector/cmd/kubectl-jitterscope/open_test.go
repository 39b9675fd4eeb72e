package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestWhatOpensABrowser(t *testing.T) {
	for _, one := range []struct {
		system, set string
		want        []string
	}{
		{"linux", "", nil},
		{"linux", "DISPLAY", []string{"xdg-open"}},
		{"linux", "WAYLAND_DISPLAY", []string{"xdg-open"}},
		{"freebsd", "DISPLAY", []string{"xdg-open"}},
		{"darwin", "", []string{"open"}},
		{"darwin", "SSH_CONNECTION", nil},
		{"windows", "", []string{"rundll32", "url.dll,FileProtocolHandler"}},
	} {
		variable := func(name string) string {
			if name == one.set {
				return "set"
			}
			return ""
		}
		if got := opener(one.system, variable); !slices.Equal(got, one.want) {
			t.Errorf("%s with %q: %v, want %v", one.system, one.set, got, one.want)
		}
	}
}

func TestAProgramThatCannotOpenIsNamed(t *testing.T) {
	for command, failure := range map[string]string{"exit 3": "sh: exit status 3", "exit 0": ""} {
		err := browse([]string{"sh", "-c", command}, "https://jitterscope.example/incidents/12")
		if (err == nil) != (failure == "") || err != nil && err.Error() != failure {
			t.Errorf("%s: %v, want %q", command, err, failure)
		}
	}
	if err := browse([]string{"no-such-program"}, "https://jitterscope.example"); err == nil {
		t.Error("a program that is missing opened something")
	}
}

// TestOpen: with a display the page opens, and its address is printed in any case.
func TestOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("xdg-open is of Linux")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/incidents/12" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprint(w, "{}")
	}))
	defer server.Close()
	folder := t.TempDir()
	opened := filepath.Join(folder, "opened")
	if err := os.WriteFile(filepath.Join(folder, "xdg-open"), []byte("#!/bin/sh\necho \"$*\" >"+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv("JITTERSCOPE_SERVER", server.URL)
	t.Setenv("JITTERSCOPE_API_TOKEN", "token")
	t.Setenv("WAYLAND_DISPLAY", "")
	page := server.URL + "/incidents/12\n"
	for _, one := range []struct{ line, display, opens string }{
		{"open 12", ":0", page}, {"open 12 --print", ":0", ""}, {"open 12", "", ""},
	} {
		t.Setenv("DISPLAY", one.display)
		_ = os.Remove(opened)
		var out, errors strings.Builder
		if err := run(context.Background(), strings.Fields(one.line), streams{strings.NewReader(""), &out, &errors}); err != nil || out.String() != page {
			t.Errorf("%s: %v, %q, %q", one.line, err, out.String(), errors.String())
		}
		if found, _ := os.ReadFile(opened); string(found) != one.opens {
			t.Errorf("%s with display %q opened %q, want %q", one.line, one.display, found, one.opens)
		}
	}
	t.Setenv("DISPLAY", ":0")
	var out strings.Builder
	if err := run(context.Background(), []string{"open", "13"}, streams{strings.NewReader(""), &out, &out}); err == nil {
		t.Error("a page that does not exist was opened")
	}
}
