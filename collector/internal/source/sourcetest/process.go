package sourcetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// StartTicks is when the process of AddProcess started, in hundredths of a second since boot.
const StartTicks = 4711

// AddProcess adds a process to a fake /proc, with the PID of this one, so that kernel queries about it work. It runs an
// executable of that name, is in that cgroup and has three open files, including a standard output: a file to which the
// test can write.
func AddProcess(t testing.TB, proc, executable, cgroup string) (pid int, output string) {
	t.Helper()
	pid = os.Getpid()
	name := fmt.Sprint(pid)
	Write(t, proc, "uptime", "100000.00 200000.00\n")
	Write(t, proc, name+"/stat", fmt.Sprintf("%d (%s) S 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 4 0 %d 1 1\n", pid, executable, StartTicks))
	Write(t, proc, name+"/statm", "5000 300 200 1 0 400 0\n")
	Write(t, proc, name+"/comm", executable+"\n")
	Write(t, proc, name+"/cmdline", "/bin/"+executable+"\x00")
	Write(t, proc, name+"/environ", "")
	Write(t, proc, name+"/cgroup", "0::"+cgroup+"\n")
	Write(t, proc, name+"/task/"+name+"/children", "")
	Write(t, proc, name+"/fdinfo/1", "flags:\t0102001\n")
	output = filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(output, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"ns", "fd", "root"} {
		if err := os.MkdirAll(filepath.Join(proc, name, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		name + "/exe": "/bin/" + executable, name + "/ns/net": fmt.Sprintf("/proc/%d/ns/net", pid), name + "/cwd": "/", "self": name,
		name + "/fd/0": "/dev/null", name + "/fd/1": output, name + "/fd/2": "/dev/null", "thread-self": name + "/task/" + name,
	} {
		if err := os.Symlink(target, filepath.Join(proc, link)); err != nil {
			t.Fatal(err)
		}
	}
	return pid, output
}

// ProcessKey is the resource key of the process of AddProcess.
func ProcessKey() string { return fmt.Sprintf("%d:%d", os.Getpid(), StartTicks) }
