package pods

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

const agentVariable = "JITTERSCOPE_TEST_CILIUM_AGENT"

// TestCiliumAgentHelper is the program that TestCiliumIsFound starts under the name of an agent: it serves a page.
func TestCiliumAgentHelper(t *testing.T) {
	page := os.Getenv(agentVariable)
	if page == "" {
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		text, err := os.ReadFile(page)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(text)
	}))
	defer server.Close()
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

// TestCiliumIsFound finds an agent by the name of its process and the ports on which it listens.
func TestCiliumIsFound(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "cilium-agent")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(self, binary); err != nil {
		text, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(binary, text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	agent := exec.Command(binary, "-test.run=^TestCiliumAgentHelper$")
	page, err := filepath.Abs("../../podmetrics/testdata/cilium-1.14.1-after.txt")
	if err != nil {
		t.Fatal(err)
	}
	agent.Env = append(os.Environ(), agentVariable+"="+page)
	input, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = input.Close()
		_ = agent.Wait()
	}()
	ready := make([]byte, 6)
	if _, err := io.ReadFull(output, ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("%q, %v", ready, err)
	}
	// Other agents can run on this machine: only this one's process is shown.
	proc := t.TempDir()
	pid := showProcess(t, proc, agent.Process.Pid)
	c := &cniMetrics{proc: proc, versionOf: agent.Process.Pid}
	reading, err := c.local(context.Background())
	if err != nil || !reading.Present || reading.Version != "1.14.1" {
		t.Errorf("process %s: %+v, %v", pid, reading, err)
	}
	if c.found == nil {
		t.Fatal("the page is not kept")
	}
	c.found.Close()
	empty := &cniMetrics{proc: t.TempDir()}
	if reading, err := empty.local(context.Background()); err != nil || reading.Present {
		t.Errorf("without an agent: %+v, %v", reading, err)
	}
}

// showProcess creates a /proc with one process, which has its own file system.
func showProcess(t *testing.T, proc string, pid int) string {
	t.Helper()
	name := strconv.Itoa(pid)
	if err := os.MkdirAll(filepath.Join(proc, name, "root/var/run/cilium"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{"comm", "fd", "net", "ns"} {
		if err := os.Symlink(filepath.Join("/proc", name, entry), filepath.Join(proc, name, entry)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/proc/self", filepath.Join(proc, "self")); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCiliumTellsItsVersion queries an API on a socket in the agent's own file system.
func TestCiliumTellsItsVersion(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`{"cilium":{"msg":"1.12.3 (v1.12.3-1c466d2)","state":"Ok"},"kvstore":{"state":"Disabled"}}`, "1.12.3"},
		{`{"cilium":{"msg":"1.19.0-rc.1","state":"Ok"}}`, "1.19.0-rc.1"},
		{`{"cilium":{"msg":"Some controllers are failing","state":"Failure"}}`, ""},
		{`{}`, ""},
		{"no JSON", ""},
	} {
		proc := t.TempDir()
		name := showProcess(t, proc, os.Getpid())
		listener, err := net.Listen("unix", filepath.Join(proc, name, ciliumSocket))
		if err != nil {
			t.Fatal(err)
		}
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/healthz" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, c.answer)
		})}}
		server.Start()
		version, err := ciliumVersion(context.Background(), proc, os.Getpid())
		if version != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.answer, version, err)
		}
		server.Close()
	}
	if version, err := ciliumVersion(context.Background(), t.TempDir(), 1); err == nil {
		t.Errorf("%q of nobody", version)
	}
}
