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

// sandboxes leaves out the cgroups of pods' sandboxes: nothing happens in them, and they would be half of those on a
// node.
//
// The command line of the runtime's monitor says what a container is, once there is a process in its cgroup. If it does
// not, only names.SandboxProgram can be a sandbox, and the runtime is asked; before the program starts, the runtime's
// own waits in the cgroup. An undecided cgroup is held back, for at most undecidedFor, unless it predates the
// collector. Then it is shown, until the runtime says more.
type sandboxes struct {
	proc string

	mu      sync.Mutex
	decided map[string]decision
	asked   func(containerID string) names.Kind // nil: there is no runtime to ask
}

type decision struct {
	location cgroup.Location
	since    time.Time
	kind     names.Kind
	paused   bool // it might be a sandbox
}

const undecidedFor = time.Second

// leaveOut returns the other locations. again is true if one is held back: then it is time to check again soon.
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

// decide reads what runs in a cgroup. paused is true if a sandbox's program runs there and its purpose is unknown.
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

// is reports whether the cgroup with this path is left out.
func (s *sandboxes) is(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decided[path].kind == names.Sandbox
}

// unknown counts the cgroups that might be sandboxes.
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

// isRuntime recognizes runc ("runc:[2:INIT]", "runc") and crun ("crun", "libcrun"), as they appear until the
// container's program is started.
func isRuntime(command string) bool {
	return strings.HasPrefix(command, "runc") || strings.HasPrefix(command, "crun") || strings.HasPrefix(command, "libcrun")
}
