package sampler

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
)

// TestSandboxesAreLeftOut has a pod as containerd makes one: its sandbox, whose program comes after its cgroup, and its
// container.
func TestSandboxesAreLeftOut(t *testing.T) {
	const pod = "/kubepods/burstable/pod9118fc9a-5622-43c2-a6a9-ea0a582ea247"
	sandbox := pod + "/1111cd1b2ec1d8877d7a6a412759d20646f39aec47ff5e3bfd6cfe96f7c9bcff"
	container := pod + "/2222cd1b2ec1d8877d7a6a412759d20646f39aec47ff5e3bfd6cfe96f7c9bcff"
	plain := "/jitterscope-lab-1/pause"
	root, proc := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	locations := []cgroup.Location{}
	for _, path := range []string{pod, sandbox, container, plain} {
		locations = append(locations, cgroup.Location{Path: path, CPU: root + path})
	}
	write(root+sandbox+"/cgroup.procs", "101\n")
	write(root+container+"/cgroup.procs", "")
	write(root+plain+"/cgroup.procs", "103\n")
	write(proc+"/101/comm", "runc:[2:INIT]\n")
	write(proc+"/103/comm", "pause\n") // a program that has the name and is in no pod
	s, now := &sandboxes{proc: proc}, time.Unix(1_700_000_000, 0)
	s.leaveOut(nil, now) // the collector started before
	expect := func(after time.Duration, again bool, want ...string) {
		t.Helper()
		kept, held := s.leaveOut(locations, now.Add(after))
		var paths []string
		for _, location := range kept {
			paths = append(paths, location.Path)
		}
		if held != again || !slices.Equal(paths, want) {
			t.Errorf("after %v: %v, again %v", after, paths, held)
		}
	}
	expect(0, true, pod, plain)
	write(proc+"/101/comm", "pause\n")
	expect(100*time.Millisecond, true, pod, plain)
	write(root+container+"/cgroup.procs", "102\n")
	write(proc+"/102/comm", "coredns\n")
	expect(200*time.Millisecond, false, pod, container, plain)
	// What was decided stays so: a container whose program ended is still one.
	write(root+container+"/cgroup.procs", "")
	expect(300*time.Millisecond, false, pod, container, plain)

	// One whose program nobody saw is not held back for ever.
	s = &sandboxes{proc: proc}
	s.leaveOut(nil, now)
	write(root+sandbox+"/cgroup.procs", "")
	expect(0, true, pod, plain)
	expect(undecidedFor, false, pod, sandbox, container, plain)

	// What was there before the collector is told apart at once.
	s = &sandboxes{proc: proc}
	write(root+sandbox+"/cgroup.procs", "101\n")
	expect(0, false, pod, container, plain)
}
