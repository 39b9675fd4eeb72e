package cgroup

import (
	"path"
	"strconv"
	"sync"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/names"
)

const (
	goneKept   = 256
	goneKeptUS = 120_000_000 // for the kubelet, which is queried at least once a minute
	// The kubelet's report is used only after the kernel's log, which has more detail, had enough time.
	goneLogUS = oomUnclaimedUS + 2_000_000
	// A container ended by SIGKILL. "OOMKilled" alone can refer to an earlier child.
	killedExitCode = 137
	reasonOOM      = "OOMKilled"
)

// goneGroup is a cgroup that was removed: its counters were last read some time before, so the kill that ended it might
// be in none.
type goneGroup struct {
	path    string
	readUS  int64 // end of the last tick in which its memory was read
	goneUS  int64
	counted bool // a kill was counted in it
}

// goneGroups are those of the last minutes, oldest first.
type goneGroups struct {
	ends *names.Ends

	mu   sync.Mutex
	list []goneGroup
}

func (l *goneGroups) add(g *memoryGroup, nowUS int64) {
	if g.readUS == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, goneGroup{path: g.Path, readUS: g.readUS, goneUS: nowUS, counted: g.kill.tickUS != 0})
	if extra := len(l.list) - goneKept; extra > 0 {
		l.list = l.list[extra:]
	}
}

// tellGone makes events of kills whose cgroup was removed before they were counted: from the kernel's log, else from
// the kubelet.
func (m *cgroupMemory) tellGone(nowUS int64) {
	m.gone.mu.Lock()
	defer m.gone.mu.Unlock()
	kept := m.gone.list[:0]
	for _, g := range m.gone.list {
		if !m.tellOneGone(g, nowUS) && nowUS-g.goneUS < goneKeptUS {
			kept = append(kept, g)
		}
	}
	m.gone.list = kept
}

// tellOneGone returns true if there is nothing more to report.
func (m *cgroupMemory) tellOneGone(g goneGroup, nowUS int64) bool {
	if _, again := m.registry.Cgroup(g.path); again {
		return true // of the same name, created again
	}
	if records := m.records.claimGone(g.path); len(records) > 0 {
		for _, record := range records {
			attributes := killAttributes(&record.kill)
			attributes["uncounted_by"] = "kernel_log"
			m.tellOf(g, min(record.atUS, g.readUS), attributes)
		}
		return true
	}
	if g.counted {
		return false // the last kill can be one of those
	}
	end, ok := m.gone.ends.Of(names.Identify(g.path).ContainerID)
	if !ok || nowUS-g.goneUS < goneLogUS {
		return false
	}
	if end.Reason == reasonOOM && end.ExitCode == killedExitCode {
		// The kubelet reports whole seconds; the memory was read until just before.
		m.tellOf(g, min(max(g.readUS, end.AtUS), end.AtUS+999_999), map[string]string{
			"uncounted_by": "kubelet", "reason": end.Reason, "exit_code": strconv.Itoa(end.ExitCode), "restarts": strconv.Itoa(end.Restarts),
		})
	}
	return true
}

// tellOf records the event of a cgroup that no longer exists.
func (m *cgroupMemory) tellOf(g goneGroup, atUS int64, attributes map[string]string) {
	attributes["count"] = "1"
	made := m.again(g.path)
	resource := made[len(made)-1]
	m.registry.Event(resource, catalogue.EventMemoryOOMKill, atUS, 0, attributes)
	m.registry.Trigger(resource, "oom_kill", atUS)
	for _, one := range made[1:] {
		m.registry.Remove(one)
	}
}

// again recreates the resources of a path's cgroups that are no longer watched, so that events can be recorded for
// them: first the ancestor that still is, or the node.
func (m *cgroupMemory) again(cgroupPath string) []batch.ResourceID {
	if cgroupPath == "/" || cgroupPath == "." {
		return []batch.ResourceID{batch.Node}
	}
	if group, ok := m.registry.Cgroup(cgroupPath); ok {
		return []batch.ResourceID{group.Resource}
	}
	above := m.again(path.Dir(cgroupPath))
	return append(above, m.registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_CGROUP, cgroupPath, above[len(above)-1]))
}
