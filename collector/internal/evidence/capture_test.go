package evidence

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// captured starts a capturing program, generates traffic, and returns the file.
func captured(t *testing.T, name string, traffic func(), command ...string) string {
	t.Helper()
	if os.Getuid() != 0 {
		testenv.Skip(t, "capturing needs root")
	}
	path := filepath.Join(t.TempDir(), name)
	program := exec.Command(command[0], append(command[1:], "-w", path)...)
	var said bytes.Buffer
	program.Stderr = &said
	if err := program.Start(); err != nil {
		testenv.Skip(t, "%v", err)
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = program.Process.Signal(syscall.SIGINT)
			_ = program.Wait()
		}
	}
	t.Cleanup(stop)
	// The program has opened its socket when its file has a header; the traffic can start a moment later.
	for range 100 {
		if info, err := os.Stat(path); err == nil && info.Size() >= 24 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(700 * time.Millisecond)
	traffic()
	interfaces := 0
	for _, argument := range command {
		if argument == "-i" {
			interfaces++
		}
	}
	wire := packedQuery(t, 0, lastName)[12:]
	for range 200 { // the kernel hands over its buffer once a second
		content, err := os.ReadFile(path)
		if err == nil && bytes.Count(content, wire) >= 2*interfaces {
			stop()
			return path
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%v did not capture the last query and its answer: %s", command, said.String())
	return ""
}

// captureFilter keeps out unrelated packets: the same port can be in use in the other protocol family.
func captureFilter(server testServer) string {
	return fmt.Sprintf("host %s and port %d", server.host, server.port)
}
