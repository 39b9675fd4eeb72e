package exits

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

const threadsVariable = "JITTERSCOPE_TEST_THREADS"

// TestMain is also the program with many threads.
func TestMain(m *testing.M) {
	threads, err := strconv.Atoi(os.Getenv(threadsVariable))
	if err != nil {
		os.Exit(m.Run())
	}
	testenv.EndWithThreads(threads)
}

func TestMassExitIsTold(t *testing.T) {
	tracer, err := Open(false)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, ebpf.ErrNotSupported) {
		testenv.Skip(t, "%v; needs %s", err, Needs)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tracer.Close(); err != nil {
			t.Error(err)
		}
	}()
	before, ok := tracer.Count()
	if !ok {
		t.Fatal("the counters cannot be read")
	}
	run := func(threads int) int {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), threadsVariable+"="+strconv.Itoa(threads))
		if err := command.Run(); err != nil {
			t.Fatal(err)
		}
		return command.Process.Pid
	}
	from := time.Now()
	few, many := run(10), run(300)
	to := time.Now()
	if after, _ := tracer.Count(); after-before < 310 {
		t.Errorf("%d threads ended", after-before)
	}
	var told []Mass
	for range 3 {
		time.Sleep(200 * time.Millisecond)
		told = append(told, tracer.Take()...)
	}
	found := 0
	// Go's runtime has threads of its own besides the 300, more on a busy machine.
	for _, mass := range told {
		switch int(mass.PID) {
		case few:
			t.Errorf("a few threads are no mass: %+v", mass)
		case many:
			found++
			if mass.Threads < 300 || mass.Threads > 400 || mass.Command != "exits.test" || mass.Cgroup == 0 ||
				mass.StartUS < from.UnixMicro() || mass.EndUS > to.UnixMicro() || mass.EndUS < mass.StartUS {
				t.Errorf("told %+v", mass)
			}
		}
	}
	if found != 1 {
		t.Errorf("told %d times in %+v", found, told)
	}
}
