package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/names"
)

const (
	pod       = "/kubepods/burstable/pod9118fc9a-5622-43c2-a6a9-ea0a582ea247"
	sandboxID = "1111cd1b2ec1d8877d7a6a412759d20646f39aec47ff5e3bfd6cfe96f7c9bcff"
	sandbox   = pod + "/" + sandboxID
	container = pod + "/2222cd1b2ec1d8877d7a6a412759d20646f39aec47ff5e3bfd6cfe96f7c9bcff"
	plain     = "/jitterscope-lab-1/pause"
)

// aPod is a pod as containerd creates it, and a program that is named like a sandbox's but is in no pod.
type aPod struct {
	t          *testing.T
	root, proc string
	locations  []cgroup.Location
	sandboxes  *sandboxes
	began      time.Time
}

func newPod(t *testing.T) *aPod {
	p := &aPod{t: t, root: t.TempDir(), proc: t.TempDir(), began: time.Unix(1_700_000_000, 0)}
	for _, path := range []string{pod, sandbox, container, plain} {
		p.locations = append(p.locations, cgroup.Location{Path: path, CPU: p.root + path})
	}
	p.process(1, 0, "systemd", "/sbin/init")
	p.process(100, 1, "containerd-shim", "/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id "+sandboxID+" -address /run/x")
	p.process(103, 1, "pause", "/pause")
	p.holds(plain, "103\n")
	return p
}

// start creates a collector that predates the pod.
func (p *aPod) start() {
	p.startBeside()
	p.sandboxes.leaveOut(nil, p.began)
}

// startBeside creates one that starts after the pod.
func (p *aPod) startBeside() { p.sandboxes = &sandboxes{proc: p.proc} }

func (p *aPod) holds(path, pids string) { p.write(p.root+path+"/cgroup.procs", pids) }

func (p *aPod) process(pid, parent int, command, line string) {
	p.t.Helper()
	folder := filepath.Join(p.proc, strconv.Itoa(pid))
	p.write(folder+"/comm", command+"\n")
	p.write(folder+"/stat", fmt.Sprintf("%d (%s) S %d 1 1 0 -1\n", pid, command, parent))
	p.write(folder+"/cmdline", strings.ReplaceAll(line, " ", "\x00")+"\x00")
}

func (p *aPod) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *aPod) expect(after time.Duration, again bool, want ...string) {
	p.t.Helper()
	kept, held := p.sandboxes.leaveOut(p.locations, p.began.Add(after))
	var paths []string
	for _, location := range kept {
		paths = append(paths, location.Path)
	}
	if held != again || !slices.Equal(paths, want) {
		p.t.Errorf("after %v: %v, again %v", after, paths, held)
	}
}

// TestSandboxesAreLeftOut has a monitor that says what each container is, before its program has started.
func TestSandboxesAreLeftOut(t *testing.T) {
	p := newPod(t)
	p.holds(sandbox, "")
	p.holds(container, "")
	p.start()
	p.expect(0, true, pod, plain)
	p.holds(sandbox, "101\n")
	p.process(101, 100, "runc:[2:INIT]", "runc init")
	p.expect(100*time.Millisecond, true, pod, plain)
	p.holds(container, "102\n")
	p.process(102, 100, "pause", "/pause") // a placeholder
	p.expect(200*time.Millisecond, false, pod, container, plain)
	if !p.sandboxes.is(sandbox) || p.sandboxes.is(container) || p.sandboxes.is(plain) || p.sandboxes.unknown() != 0 {
		t.Error("what is a sandbox is told wrong")
	}
	// A decision is final: a container whose program ended is still one.
	p.holds(container, "")
	p.expect(300*time.Millisecond, false, pod, container, plain)

	// One whose program was never seen is neither held back forever nor left out later.
	p.start()
	p.holds(sandbox, "")
	p.expect(0, true, pod, plain)
	p.expect(undecidedFor, false, pod, sandbox, container, plain)
	p.holds(sandbox, "101\n")
	p.expect(2*undecidedFor, false, pod, container, plain)

	// What predates the collector is decided at once.
	p.startBeside()
	p.expect(0, false, pod, container, plain)
}

// TestProgramsThatAreNoSandbox has a monitor that says nothing.
func TestProgramsThatAreNoSandbox(t *testing.T) {
	p := newPod(t)
	p.process(100, 1, "conmonrs", "conmonrs --runtime crun")
	p.holds(sandbox, "")
	p.holds(container, "102\n")
	p.process(102, 100, "runc:[2:INIT]", "runc init")
	p.start()
	p.expect(0, true, pod, plain)
	p.process(102, 100, "coredns", "/coredns")
	p.expect(100*time.Millisecond, true, pod, container, plain)
	if n := p.sandboxes.unknown(); n != 0 {
		t.Errorf("%d unknown", n)
	}
}

// TestUnknownSandboxesAreShown has a monitor that says nothing, until the runtime is asked.
func TestUnknownSandboxesAreShown(t *testing.T) {
	p := newPod(t)
	p.holds(sandbox, "101\n")
	p.holds(container, "102\n")
	p.process(100, 1, "containerd-shim", "/usr/bin/containerd-shim-runc-v2 -namespace moby -id "+sandboxID)
	p.process(101, 100, "pause", "/pause")
	p.process(102, 100, "pause", "/pause")
	p.start()
	p.expect(0, true, pod, plain)
	p.expect(undecidedFor, false, pod, sandbox, container, plain)
	if n := p.sandboxes.unknown(); n != 2 || p.sandboxes.is(sandbox) {
		t.Errorf("%d unknown", n)
	}
	p.sandboxes.ask(func(id string) names.Kind {
		if id == sandboxID {
			return names.Sandbox
		}
		return names.Workload
	})
	p.expect(2*undecidedFor, false, pod, container, plain)
	if n := p.sandboxes.unknown(); n != 0 || !p.sandboxes.is(sandbox) {
		t.Errorf("%d unknown", n)
	}
}
