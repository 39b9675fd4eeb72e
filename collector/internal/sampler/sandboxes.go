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
// A sandbox runs names.SandboxProgram, and the runtime says that it is one: its monitor's command line does, or it is asked. The program is not there yet when its cgroup is new: until then, the runtime's own program waits in it. A cgroup of
// which it is not known yet is held back, for undecidedFor at the most, unless it was there before the collector. Then it is
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
	paused   bool // it runs a sandbox's program
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

// decide reads what runs in a cgroup. The kind is unknown while nothing but the runtime's own program does, and where the
// runtime does not say what a sandbox's program was started for.
func (s *sandboxes) decide(location cgroup.Location) (kind names.Kind, paused bool) {
	directory := location.CPU
	if directory == "" {
		directory = location.Memory
	}
	pids, err := os.ReadFile(directory + "/cgroup.procs")
	if err != nil {
		return names.UnknownKind, false
	}
	for _, field := range bytes.Fields(pids) {
		text, err := os.ReadFile(filepath.Join(s.proc, string(field), "comm"))
		command := strings.TrimSpace(string(text))
		if err != nil || isRuntime(command) {
			continue
		}
		if command != names.SandboxProgram {
			return names.Workload, false
		}
		id := names.Identify(location.Path).ContainerID
		pid, _ := strconv.Atoi(string(field))
		kind := names.KindByMonitor(s.proc, pid, id)
		if kind == names.UnknownKind && s.asked != nil {
			kind = s.asked(id)
		}
		return kind, true
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
		if one.kind == names.UnknownKind && one.paused {
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
