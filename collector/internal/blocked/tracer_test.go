package blocked

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// spawn starts a program whose standard input is a FIFO. Until the FIFO is opened for writing the new process cannot
// begin, and its parent waits for it in state D (vfork).
const spawn = `import os, sys
print("ready", flush=True)
sys.stdin.readline()
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])
print("over", flush=True)
sys.stdin.readline()
`

func TestBlockedTimeIsCounted(t *testing.T) {
	tracer, err := Open()
	if errors.Is(err, os.ErrPermission) || errors.Is(err, ebpf.ErrNotSupported) {
		testenv.Skip(t, "%v; needs %s", err, Needs)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tracer.Close(); err != nil {
			t.Error(err)
		}
	}()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("python3", "-c", spawn, fifo)
	input, _ := command.StdinPipe()
	output, _ := command.StdoutPipe()
	if err := deathsig.Start(command); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	lines := bufio.NewScanner(output)
	meter := tracer.Watch(command.Process.Pid)
	if meter == nil {
		t.Fatal("it cannot be watched")
	}
	if account, ok := tracer.Read(meter); !ok || account.IONS > account.BlockedNS {
		t.Errorf("at first %+v, %v", account, ok)
	}
	lines.Scan()
	if _, err := input.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	for seen := 0; seen < 20; seen++ { // one of its pages might have to be read, which takes less time
		if time.Sleep(time.Millisecond); !isBlocked(t, command.Process.Pid) {
			seen = 0
		}
	}
	before, _ := tracer.Read(meter)
	from := time.Now()
	time.Sleep(200 * time.Millisecond)
	meanwhile, ok := tracer.Read(meter)
	if waited := time.Duration(meanwhile.BlockedNS - before.BlockedNS); !ok || waited < 200*time.Millisecond {
		t.Errorf("blocked for %v so far", waited)
	}
	time.Sleep(100 * time.Millisecond)
	least := time.Since(from)
	file, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines.Scan()
	after, ok := tracer.Read(meter)
	blocked := time.Duration(after.BlockedNS - before.BlockedNS)
	if !ok || blocked < least || blocked > time.Since(from)+time.Second {
		t.Errorf("blocked for %v, at least %v", blocked, least)
	}
	if after.IONS != before.IONS {
		t.Errorf("%v of it is told to be I/O", time.Duration(after.IONS-before.IONS))
	}
	tracer.Forget(meter)
	again := tracer.Watch(os.Getpid())
	if again == nil || again.place.Slot != meter.place.Slot {
		t.Fatalf("the place of %+v is not used again by %+v", meter, again)
	}
	if account, ok := tracer.Read(again); !ok || account.BlockedNS >= uint64(least) {
		t.Errorf("a later process begins with %+v", account)
	}
}

func isBlocked(t *testing.T, pid int) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "D")
}
