package main

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

var arch = flag.String("arch", runtime.GOARCH, "test the binary built for this architecture, in QEMU if it is not this machine's")

// emulators run programs of another architecture.
var emulators = map[string]string{"arm64": "qemu-aarch64-static"}

// built returns the command line of the collector, which it builds first.
func built(t *testing.T) []string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "jitterscope-collector")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+*arch)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if *arch == runtime.GOARCH {
		return []string{binary}
	}
	emulator := emulators[*arch]
	if _, err := exec.LookPath(emulator); err != nil {
		t.Fatalf("%s needs an emulator (qemu-user-static): %v", *arch, err)
	}
	return []string{emulator, binary}
}

func prepare(program []string, arguments ...string) (command *exec.Cmd, stdout, stderr *bytes.Buffer) {
	line := append(slices.Clone(program), arguments...)
	command, stdout, stderr = exec.Command(line[0], line[1:]...), &bytes.Buffer{}, &bytes.Buffer{}
	command.Stdout, command.Stderr = stdout, stderr
	return command, stdout, stderr
}

// TestProgram starts the binary as people do.
func TestProgram(t *testing.T) {
	program := built(t)
	t.Run("version", func(t *testing.T) { tellsItsVersion(t, program) })
	t.Run("check", func(t *testing.T) { checksSources(t, program) })
	t.Run("golden", func(t *testing.T) { goldens(t, program) })
}

func tellsItsVersion(t *testing.T, program []string) {
	command, stdout, stderr := prepare(program, "version")
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if !strings.HasSuffix(stdout.String(), " "+runtime.GOOS+"/"+*arch+"\n") {
		t.Errorf("it says %q, and was built for %s", stdout, *arch)
	}
}

// checksSources asks all sources on this machine. What only an emulator lacks must not stop the others.
func checksSources(t *testing.T, program []string) {
	command, stdout, stderr := prepare(program, "check")
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	t.Logf("%s", stdout)
	state := regexp.MustCompile(`^(\w+) +(works|works partially.*|not available.*|off: .+)$`)
	said := make(map[string]string)
	for line := range strings.Lines(stdout.String()) {
		found := state.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if found == nil {
			t.Fatalf("no state of a source: %q", line)
		}
		said[found[1]] = found[2]
	}
	for _, everywhere := range []string{"host_cpu", "meminfo", "self", "vmstat"} {
		if said[everywhere] != "works" {
			t.Errorf("%s: %q", everywhere, said[everywhere])
		}
	}
}

// receiver decodes what a collector sends.
type receiver struct {
	mu       sync.Mutex
	batches  []*ingestpb.Batch
	problems []error
}

func (r *receiver) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	b, err := decode(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.problems = append(r.problems, err)
		return
	}
	// `dump` has no spool.
	b.Sources = slices.DeleteFunc(b.Sources, func(s *ingestpb.SourceStatus) bool { return s.Name == "spool" })
	r.batches = append(r.batches, b)
}

func decode(body io.Reader) (*ingestpb.Batch, error) {
	frames, err := zstd.NewReader(body)
	if err != nil {
		return nil, err
	}
	defer frames.Close()
	plain, err := io.ReadAll(frames)
	if err != nil {
		return nil, err
	}
	b := &ingestpb.Batch{}
	return b, proto.Unmarshal(plain, b)
}

// shipped returns the batches that `run` sends to a server until it is told to stop.
func shipped(t *testing.T, program []string, seconds float64, onStart func(), options ...string) []*ingestpb.Batch {
	t.Helper()
	taken := &receiver{}
	server := httptest.NewServer(taken)
	defer server.Close()
	command, _, stderr := prepare(program, append([]string{"run", "--server", server.URL, "--spool-dir", t.TempDir()}, options...)...)
	command.Env = append(os.Environ(), "JITTERSCOPE_TOKEN=jsi_test")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(time.Duration(seconds*float64(time.Second)), func() { _ = command.Process.Signal(syscall.SIGTERM) })
	defer stop.Stop()
	onStart()
	if err := command.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	taken.mu.Lock()
	defer taken.mu.Unlock()
	if len(taken.problems) != 0 || len(taken.batches) == 0 {
		t.Fatalf("%d batches, %v\n%s", len(taken.batches), taken.problems, stderr)
	}
	return taken.batches
}
