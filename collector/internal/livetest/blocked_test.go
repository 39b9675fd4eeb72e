package livetest

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
)

// syncing writes and waits for the disk, again and again, and reports how long it waited in all. It listens, so that it
// is watched.
const syncing = `import os, socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
print(os.getpid(), flush=True)
sys.stdin.readline()
waited, until = 0.0, time.monotonic() + 3
while time.monotonic() < until:
    os.pwrite(file, os.urandom(1 << 20), 0)
    begun = time.monotonic()
    os.fsync(file)
    waited += time.monotonic() - begun
print(round(waited * 1e6), flush=True)
sys.stdin.readline()
`

// TestBlocked: a program that waits for a disk most of the time is reported as blocked for that long.
func TestBlocked(t *testing.T) {
	o := observe(t, "process,blocked")
	o.needs("blocked")
	command := exec.Command("python3", "-c", syncing, filepath.Join(t.TempDir(), "file"))
	input, _ := command.StdinPipe()
	output, _ := command.StdoutPipe()
	if err := deathsig.Start(command); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	lines := bufio.NewScanner(output)
	lines.Scan()
	process := ""
	waitFor(t, "the process is known", func() bool {
		process = o.processKey(command.Process.Pid)
		return process != "" && len(o.series(process, catalogue.ProcessBlockedUS)) > 0
	})
	if _, err := input.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	lines.Scan()
	until := time.Now()
	truth, err := strconv.ParseFloat(strings.TrimSpace(lines.Text()), 64)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the ticks until then were sent", func() bool {
		points := o.series(process, catalogue.ProcessBlockedUS)
		return points[len(points)-1].startUS > until.UnixMicro()
	})
	blocked, inIO := 0.0, 0.0
	for _, p := range o.series(process, catalogue.ProcessBlockedUS) {
		blocked += p.value
	}
	for _, p := range o.series(process, catalogue.ProcessIOWaitUS) {
		inIO += p.value
	}
	t.Logf("fsync took %.0f ms, blocked for %.0f ms, %.0f ms of it for I/O itself", truth/1000, blocked/1000, inIO/1000)
	// fsync also uses the CPU; a write can wait too.
	if truth == 0 || blocked < 0.3*truth || blocked > 3.2e6 || inIO > blocked {
		t.Errorf("fsync took %.0f us, blocked for %.0f us, %.0f us of it for I/O", truth, blocked, inIO)
	}
}
