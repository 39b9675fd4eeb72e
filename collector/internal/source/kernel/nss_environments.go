package kernel

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/names"
	"github.com/jitterscope/jitterscope/collector/internal/nss"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
)

// nssEnvironments reports NSS_SDB_USE_CACHE of the first process of each cgroup, which the programs that it starts
// inherit: those with NSS often end before anybody can read theirs, and one that no longer probes shows nothing at all.
type nssEnvironments struct {
	proc string
	tell func(group *sampler.Group, value string)

	mutex  sync.Mutex
	groups map[*sampler.Group]*nssEnvironment
	unset  bool // a program with NSS was seen: that the variable is not set is worth reporting
}

type nssEnvironment struct {
	found time.Time
	done  bool    // it is not read again
	read  bool    // value is known
	value *string // nil: not set
}

const (
	nssReadAfter  = 2 * time.Second // a container runtime starts the program in the cgroup that it made
	nssGiveUp     = time.Minute
	nssReadAtOnce = 32 // cgroups per round of discovery
)

func newNSSEnvironments(proc string, tell func(*sampler.Group, string)) *nssEnvironments {
	return &nssEnvironments{proc: proc, tell: tell, groups: make(map[*sampler.Group]*nssEnvironment)}
}

func (n *nssEnvironments) change(added, removed []*sampler.Group) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, group := range removed {
		delete(n.groups, group)
	}
	for _, group := range added {
		n.groups[group] = &nssEnvironment{found: time.Now()}
	}
}

// look reads what is due. `seen`: a program with NSS was seen on this node.
func (n *nssEnvironments) look(now time.Time, seen bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if seen && !n.unset {
		n.unset = true
		for group, known := range n.groups {
			n.report(group, known)
		}
	}
	left := nssReadAtOnce
	for group, known := range n.groups {
		if left == 0 {
			return
		}
		if known.done || now.Sub(known.found) < nssReadAfter {
			continue
		}
		left--
		known.value, known.read = environmentOf(n.proc, group)
		n.report(group, known)
		known.done = known.read || now.Sub(known.found) > nssGiveUp
	}
}

func (n *nssEnvironments) report(group *sampler.Group, known *nssEnvironment) {
	switch {
	case known.value != nil:
		n.tell(group, *known.value)
	case known.read && n.unset && names.Identify(group.Path).ContainerID != "":
		n.tell(group, "")
	}
}

// environmentOf reads that of the first process; false if there is none, or it is still the container runtime.
func environmentOf(proc string, group *sampler.Group) (*string, bool) {
	pids := group.Processes()
	if len(pids) == 0 {
		return nil, false
	}
	directory := filepath.Join(proc, strconv.Itoa(slices.Min(pids)))
	command, err := os.ReadFile(filepath.Join(directory, "comm"))
	if err != nil || bytes.HasPrefix(command, []byte("runc:")) || bytes.HasPrefix(command, []byte("crun")) {
		return nil, false
	}
	environment, err := os.ReadFile(filepath.Join(directory, "environ"))
	if err != nil || len(environment) == 0 {
		return nil, false
	}
	return nss.ValueIn(environment), true
}
