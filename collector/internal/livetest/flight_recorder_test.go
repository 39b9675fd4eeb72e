package livetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// backend receives what a collector process sends.
type backend struct {
	mu      sync.Mutex
	batches []*ingestpb.Batch
}

func (b *backend) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	defer decoder.Close()
	plain, err := decoder.DecodeAll(body, nil)
	batch := &ingestpb.Batch{}
	if err != nil || proto.Unmarshal(plain, batch) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batches = append(b.batches, batch)
}

func (b *backend) each(visit func(*ingestpb.Batch)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, batch := range b.batches {
		visit(batch)
	}
}

// capture returns the first capture for a reason.
func (b *backend) capture(reason string) (found *ingestpb.Capture) {
	b.each(func(batch *ingestpb.Batch) {
		for _, capture := range batch.Captures {
			if found == nil && capture.Reason == reason && batch.Resources[capture.Resource].Kind == ingestpb.ResourceKind_RESOURCE_KIND_NODE {
				found = capture
			}
		}
	})
	return found
}

// status returns the last state of a source.
func (b *backend) status(source string) (found *ingestpb.SourceStatus) {
	b.each(func(batch *ingestpb.Batch) {
		for _, status := range batch.Sources {
			if status.Name == source {
				found = status
			}
		}
	})
	return found
}

// startCollector builds the collector and runs it as a separate process, which can be stopped; as another user if that
// is not 0.
func startCollector(t *testing.T, user uint32, arguments ...string) (*exec.Cmd, *backend) {
	t.Helper()
	directory, err := os.MkdirTemp("", "jitterscope-livetest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	binary, spool := filepath.Join(directory, "jitterscope-collector"), filepath.Join(directory, "spool")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/jitterscope-collector")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if err := os.Mkdir(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	taken := &backend{}
	server := httptest.NewServer(taken)
	t.Cleanup(server.Close)
	line := append([]string{"run", "--server", server.URL, "--spool-dir", spool, "--node-key", "flight", "--log-level", "warn"}, arguments...)
	command := exec.Command(binary, line...)
	command.Env = append(os.Environ(), "JITTERSCOPE_TOKEN=jsi_livetest")
	command.Stderr = os.Stderr
	if user != 0 {
		if os.Getuid() != 0 {
			testenv.Skip(t, "running as another user needs root")
		}
		for path, mode := range map[string]os.FileMode{directory: 0o755, spool: 0o700} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(spool, int(user), int(user)); err != nil {
			t.Fatal(err)
		}
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGCONT)
		_ = command.Process.Signal(syscall.SIGTERM)
		stubborn := time.AfterFunc(5*time.Second, func() { _ = command.Process.Kill() })
		defer stubborn.Stop()
		_ = command.Wait()
	})
	waitFor(t, "the flight recorder says what it can", func() bool { return taken.status("flight_recorder") != nil })
	return command, taken
}

// burn runs a program that reads zeros: all of its time is in the kernel.
func burn(t *testing.T) *exec.Cmd {
	t.Helper()
	command := exec.Command("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "status=none")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	return command
}

// waitForRise waits for the capture of a rise of system CPU. If other work has kept the kernel busy until now, one more
// program is no rise: it pauses and continues until it is one.
func waitForRise(t *testing.T, taken *backend, culprit *exec.Cmd) {
	t.Helper()
	begun := time.Now()
	waitFor(t, "a capture of the rise of system CPU", func() bool {
		signal := syscall.SIGCONT
		if int(time.Since(begun).Seconds())%12 >= 6 {
			signal = syscall.SIGSTOP
		}
		_ = culprit.Process.Signal(signal)
		return taken.capture("system_cpu") != nil
	})
	_ = culprit.Process.Signal(syscall.SIGCONT)
}

// TestStallIsRecorded stops the collector for seconds, as on a node where nothing else gets to run, while a program
// burns CPU time in the kernel. No program could observe it at the time; the recording covers every second of it all
// the same.
func TestStallIsRecorded(t *testing.T) {
	collector, taken := startCollector(t, 0, "--sources", "flight_recorder,host_cpu,self")
	if status := taken.status("flight_recorder"); strings.Contains(status.Detail, "no stacks") {
		testenv.Skip(t, "%s; needs %s", status.Detail, status.Needs)
	}
	time.Sleep(3 * time.Second) // by now the kernel's share is known to be low
	culprit := burn(t)
	time.Sleep(2500 * time.Millisecond)
	const stall = 9 * time.Second
	from := stopped(t, collector, stall, func() {})
	waitFor(t, "a capture of the stall", func() bool { return taken.capture("late_tick") != nil })
	capture := taken.capture("late_tick")
	if capture.StartUs > from.UnixMicro()-1_000_000 || capture.EndUs < from.Add(stall).UnixMicro() || capture.LostSamples != 0 {
		t.Errorf("the capture covers %d to %d us after the begin of the stall; %d samples were lost", capture.StartUs-from.UnixMicro(),
			capture.EndUs-from.UnixMicro(), capture.LostSamples)
	}
	var seconds [stall / time.Second]int
	inKernel, total := 0, 0
	for i, offset := range capture.OffsetUs {
		since := capture.StartUs + int64(offset) - from.UnixMicro()
		process := capture.Processes[capture.Process[i]]
		if since < 0 || since >= stall.Microseconds() || int(process.Pid) != culprit.Process.Pid {
			continue
		}
		if command := capture.Strings[process.Command]; command != "dd" {
			t.Fatalf("process %d is called %q", process.Pid, command)
		}
		seconds[since/1_000_000]++
		total++
		frames := capture.Stacks[capture.Stack[i]].Kernel
		if slices.ContainsFunc(frames, func(frame uint32) bool {
			return slices.Contains([]string{"ksys_read", "ksys_write", "vfs_read", "vfs_write"}, capture.Strings[frame])
		}) {
			inKernel++
		}
	}
	t.Logf("samples of the program in each second of the stall: %v; %d of %d in read and write; %d strings, %d stacks, %d bytes", seconds,
		inKernel, total, len(capture.Strings), len(capture.Stacks), proto.Size(capture))
	for second, samples := range seconds {
		if samples < 10 { // 99 on an otherwise idle machine
			t.Errorf("second %d of the stall has %d samples of the program that burned a CPU", second, samples)
		}
	}
	if inKernel < total/2 {
		t.Errorf("%d of %d samples are in read or write", inKernel, total)
	}
	system := uint32(0)
	for i, index := range capture.RowProcess {
		if int(capture.Processes[index].Pid) == culprit.Process.Pid {
			system += capture.RowSystemUs[i]
		}
	}
	if system < 1_000_000 {
		t.Errorf("the process table says that the program spent %d us in the kernel", system)
	}
	waitForRise(t, taken, culprit)
	own := 0
	taken.each(func(batch *ingestpb.Batch) {
		for _, block := range batch.Blocks {
			if slices.Contains(block.Metric, catalogue.RecorderCPUUS) {
				own++
			}
		}
	})
	if own == 0 {
		t.Error("the recorder does not say what it costs")
	}
}

// TestRecorderWithoutPrivileges: no stacks, the status names what is missing, and the process table exists.
func TestRecorderWithoutPrivileges(t *testing.T) {
	if text, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err != nil || len(text) == 0 || text[0] == '-' || text[0] == '0' {
		testenv.Skip(t, "everybody may sample here: kernel.perf_event_paranoid is %q", text)
	}
	const nobody = 65534
	collector, taken := startCollector(t, nobody, "--sources", "flight_recorder,host_cpu,self")
	status := taken.status("flight_recorder")
	if status.State != ingestpb.SourceState_SOURCE_STATE_DEGRADED || !strings.Contains(status.Detail, "perf_event_paranoid") ||
		!strings.Contains(status.Needs, "CAP_PERFMON") {
		t.Errorf("%v", status)
	}
	time.Sleep(3 * time.Second) // by now the kernel's share is known to be low
	culprit := burn(t)
	waitForRise(t, taken, culprit)
	stopped(t, collector, 2*time.Second, func() {})
	waitFor(t, "a capture of the stall", func() bool { return taken.capture("late_tick") != nil })
	capture := taken.capture("late_tick")
	if len(capture.OffsetUs) != 0 {
		t.Errorf("%d samples", len(capture.OffsetUs))
	}
	if !slices.ContainsFunc(capture.RowProcess, func(index uint32) bool {
		return int(capture.Processes[index].Pid) == culprit.Process.Pid
	}) {
		t.Error("the program that burned a CPU is not in the process table")
	}
}
