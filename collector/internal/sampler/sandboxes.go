package sampler

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/names"
)

// sandboxes leaves the cgroups of pods' sandboxes out: nothing happens in them, and they would be half of what a node has.
//
// A sandbox is known by its program, which is not there yet when its cgroup is new: until then, the runtime's own program
// waits in it. Such a cgroup is held back, for undecidedFor at the most, unless it was there before the collector.
type sandboxes struct {
	proc    string
	decided map[string]decision
}

type decision struct {
	location cgroup.Location
	since    time.Time
	final    bool
	sandbox  bool
}

const undecidedFor = time.Second

// leaveOut returns the other locations. again is true where one is held back: then it is time to look again soon.
func (s *sandboxes) leaveOut(locations []cgroup.Location, now time.Time) (kept []cgroup.Location, again bool) {
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
		}
		if !one.final {
			one.final, one.sandbox = s.decide(location)
			one.final = one.final || atStart || now.Sub(one.since) >= undecidedFor
		}
		decided[location.Path] = one
		switch {
		case !one.final:
			again = true
		case !one.sandbox:
			kept = append(kept, location)
		}
	}
	s.decided = decided
	return kept, again
}

// decide reads what runs in a cgroup. final is false while nothing but the runtime's own program does.
func (s *sandboxes) decide(location cgroup.Location) (final, sandbox bool) {
	directory := location.CPU
	if directory == "" {
		directory = location.Memory
	}
	pids, err := os.ReadFile(directory + "/cgroup.procs")
	if err != nil {
		return false, false
	}
	for _, pid := range bytes.Fields(pids) {
		text, err := os.ReadFile(filepath.Join(s.proc, string(pid), "comm"))
		if command := strings.TrimSpace(string(text)); err == nil && !isRuntime(command) {
			return true, names.IsSandbox(command, location.Path)
		}
	}
	return false, false
}

// isRuntime knows runc ("runc:[2:INIT]", "runc") and crun ("crun", "libcrun"), as they are until the container's program
// is started.
func isRuntime(command string) bool {
	return strings.HasPrefix(command, "runc") || strings.HasPrefix(command, "crun") || strings.HasPrefix(command, "libcrun")
}
