package kernel

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

func TestTheVariableIsReadFromTheFirstProcessOfACgroup(t *testing.T) {
	proc, root := t.TempDir(), t.TempDir()
	made := func(name, pids string) *sampler.Group {
		sourcetest.Write(t, root, filepath.Join(name, "cgroup.procs"), pids)
		return &sampler.Group{Location: cgroup.Location{Path: "/" + name, CPU: filepath.Join(root, name)}}
	}
	process := func(pid, command, environ string) {
		sourcetest.Write(t, proc, filepath.Join(pid, "comm"), command+"\n")
		sourcetest.Write(t, proc, filepath.Join(pid, "environ"), environ)
	}
	container := func(letter string) string { return "docker/" + strings.Repeat(letter, 64) }
	process("7", "sh", "PATH=/bin\x00NSS_SDB_USE_CACHE=auto\x00")
	process("9", "certutil", "NSS_SDB_USE_CACHE=no\x00")
	process("11", "cron", "PATH=/bin\x00")
	process("13", "server", "PATH=/bin\x00")
	process("15", "runc:[2:INIT]", "_LIBCONTAINER_FIFOFD=4\x00")
	process("17", "hidden", "") // as for a process that must not be read
	told := map[string]string{}
	n := newNSSEnvironments(proc, func(group *sampler.Group, value string) { told[group.Path] = value })
	starting := made(container("e"), "15\n")
	n.change([]*sampler.Group{
		made(container("a"), "9\n7\n"), made("cron.service", "11\n"), made(container("b"), "13\n"), made(container("c"), ""),
		made(container("d"), "17\n"), starting,
	}, nil)
	expect := func(what string, want map[string]string) {
		t.Helper()
		if !maps.Equal(told, want) {
			t.Errorf("%s: told %v, want %v", what, told, want)
		}
	}
	now := time.Now()
	n.look(now, false)
	expect("before the programs have started", map[string]string{})
	n.look(now.Add(3*time.Second), false)
	auto := map[string]string{"/" + container("a"): "auto"}
	expect("only where it is set", auto)
	n.look(now.Add(4*time.Second), true)
	auto["/"+container("b")] = ""
	expect("also where it is not, once NSS was seen: in containers, and where the environment could be read", auto)
	process("15", "sh", "NSS_SDB_USE_CACHE=no\x00")
	n.look(now.Add(5*time.Second), true)
	auto["/"+container("e")] = "no"
	expect("once the runtime has started the program", auto)
	process("17", "hidden", "NSS_SDB_USE_CACHE=yes\x00")
	n.look(now.Add(2*nssGiveUp), true)
	n.look(now.Add(2*nssGiveUp+time.Second), true)
	auto["/"+container("d")] = "yes"
	expect("the last attempt", auto)
	clear(told)
	n.change(nil, []*sampler.Group{starting})
	n.look(now.Add(3*nssGiveUp), true)
	expect("nothing twice", map[string]string{})
}
