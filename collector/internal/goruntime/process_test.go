package goruntime

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// program is a running Go program of a test.
type program struct {
	*exec.Cmd
	say func(line string) (answer string)
}

func run(t *testing.T, flags ...string) *program { return start(t, "procs", flags...) }

// start builds and runs a program of testdata.
func start(t *testing.T, name string, flags ...string) *program {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", append(append([]string{"build", "-o", binary}, flags...), "./testdata/"+name)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	command := exec.Command(binary)
	command.Env = append(os.Environ(), "GOMAXPROCS=3")
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = command.Wait()
	})
	answers := bufio.NewScanner(stdout)
	answers.Scan()
	return &program{command, func(line string) string {
		if _, err := fmt.Fprintln(stdin, line); err != nil {
			t.Fatal(err)
		}
		answers.Scan()
		return answers.Text()
	}}
}

var variants = map[string][]string{
	"unstripped": nil, "stripped": {"-ldflags=-s -w"}, "position-independent": {"-buildmode=pie"},
	"stripped PIE": {"-buildmode=pie", "-ldflags=-s -w"},
}

func TestGOMAXPROCSOfARunningProgram(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		testenv.Skip(t, "read on amd64 only")
	}
	for name, flags := range variants {
		t.Run(name, func(t *testing.T) {
			p := run(t, flags...)
			variable, err := FindGOMAXPROCS("/proc", p.Process.Pid)
			if errors.Is(err, os.ErrPermission) {
				testenv.Skip(t, "reading its memory: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []int{3, 1, 7} {
				if want != 3 {
					p.say(fmt.Sprint(want))
				}
				if got, err := variable.Read("/proc", p.Process.Pid); err != nil || got != want {
					t.Errorf("read %d, %v; it is %d", got, err, want)
				}
			}
		})
	}
}

func TestLocateRefusesOtherPrograms(t *testing.T) {
	command := exec.Command("sleep", "10")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	if found, err := LocateInProcess("/proc", command.Process.Pid, Phases); err == nil {
		t.Errorf("found %v in sleep", found)
	}
	if _, err := ReadInfo(fmt.Sprintf("/proc/%d/exe", command.Process.Pid)); !errors.Is(err, ErrNotGo) {
		t.Errorf("sleep is Go: %v", err)
	}
}

func TestReadInfo(t *testing.T) {
	p := run(t, "-ldflags=-s -w")
	info, err := ReadInfo(fmt.Sprintf("/proc/%d/exe", p.Process.Pid))
	if err != nil || "go"+info.Version != runtime.Version() || !info.AtLeast(1, 21) || info.AtLeast(9, 0) || info.Automaxprocs != "" {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestEnvironmentIsAllowListed(t *testing.T) {
	got := Environment([]byte("PATH=/bin\x00GOGC=50\x00AWS_SECRET=x\x00GOMEMLIMIT=1GiB\x00GODEBUGX=1\x00GOGC=60\x00"))
	if len(got) != 2 || got["GOGC"] != "50" || got["GOMEMLIMIT"] != "1GiB" {
		t.Errorf("%v", got)
	}
}
