package sampler

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/names"
)

// sandboxes leaves the cgroups of pods' sandboxes out: nothing happens in them, and they would be half of what a node has.
//
// The runtime's monitor says on its command line what a container is, once there is a process in its cgroup. Where it does not
// say, only names.SandboxProgram may be a sandbox, and the runtime is asked; before the program, the runtime's own waits in the
// cgroup. What is not known is held back, for undecidedFor at the most, unless it was there before the collector. Then it is
// shown, until the runtime says more.
type sandboxes struct {
	proc string

	mu      sync.Mutex
	decided map[string]decision
	asked   func(containerID string) names.Kind // nil: nobody is asked
}

type decision struct {
	location cgroup.Location
	since    time.Time
	kind     names.Kind
	paused   bool // it may be a sandbox
}

const undecidedFor = time.Second

// leaveOut returns the other locations. again is true where one is held back: then it is time to look again soon.
func (s *sandboxes) leaveOut(locations []cgroup.Location, now time.Time) (kept []cgroup.Location, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	decided := make(map[string]decision)
	kept = locations[:0:0]
	atStart := s.decided == nil
	for _, location := range locations {
		if !names.MayBeSandbox(location.Path) {
			kept = append(kept, location)
			continue
		}
		one, known := s.decided[location.Path]
		if !known || !one.location.Same(location) {
			one = decision{location: location, since: now}
			if atStart {
				one.since = now.Add(-undecidedFor)
			}
		}
		if one.kind == names.UnknownKind {
			one.kind, one.paused = s.decide(location)
		}
		decided[location.Path] = one
		switch {
		case one.kind == names.Sandbox:
		case one.kind == names.UnknownKind && now.Sub(one.since) < undecidedFor:
			again = true
		default:
			kept = append(kept, location)
		}
	}
	s.decided = decided
	return kept, again
}

// decide reads what runs in a cgroup. paused is true where a sandbox's program does, and nobody says what for.
func (s *sandboxes) decide(location cgroup.Location) (kind names.Kind, paused bool) {
	directory := location.CPU
	if directory == "" {
		directory = location.Memory
	}
	pids, err := os.ReadFile(directory + "/cgroup.procs")
	if err != nil {
		return names.UnknownKind, false
	}
	id := names.Identify(location.Path).ContainerID
	for _, field := range bytes.Fields(pids) {
		pid, _ := strconv.Atoi(string(field))
		if kind := names.KindByMonitor(s.proc, pid, id); kind != names.UnknownKind {
			return kind, false
		}
		text, err := os.ReadFile(filepath.Join(s.proc, string(field), "comm"))
		command := strings.TrimSpace(string(text))
		switch {
		case err != nil || isRuntime(command):
		case command != names.SandboxProgram:
			return names.Workload, false
		case s.asked == nil:
			return names.UnknownKind, true
		default:
			kind := s.asked(id)
			return kind, kind == names.UnknownKind
		}
	}
	return names.UnknownKind, false
}

// is tells whether the cgroup with this path is left out.
func (s *sandboxes) is(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decided[path].kind == names.Sandbox
}

// unknown counts the cgroups that may be sandboxes.
func (s *sandboxes) unknown() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.decided {
		if one.paused {
			n++
		}
	}
	return n
}

func (s *sandboxes) ask(asked func(containerID string) names.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = asked
}

// isRuntime knows runc ("runc:[2:INIT]", "runc") and crun ("crun", "libcrun"), as they are until the container's program
// is started.
func isRuntime(command string) bool {
	return strings.HasPrefix(command, "runc") || strings.HasPrefix(command, "crun") || strings.HasPrefix(command, "libcrun")
}
