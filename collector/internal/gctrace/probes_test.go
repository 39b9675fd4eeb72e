package gctrace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
	"github.com/jitterscope/jitterscope/collector/internal/probes"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

func open(t *testing.T) *probes.Probes {
	t.Helper()
	opened, err := probes.Open(probes.FewHits)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, ebpf.ErrNotSupported) {
		testenv.Skip(t, "needs %s: %v", probes.Needs, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// traced is one line of GODEBUG=gctrace=1: the runtime's own account of a cycle.
type traced struct{ startS, wallMS, pauseMS float64 }

var traceLine = regexp.MustCompile(`gc \d+ @([\d.]+)s \d+%: ([\d.]+)\+([\d.]+)\+([\d.]+) ms clock`)

func parseTrace(t *testing.T, text []byte) []traced {
	t.Helper()
	var cycles []traced
	for _, m := range traceLine.FindAllSubmatch(text, -1) {
		var v [4]float64
		for i := range v {
			value, err := strconv.ParseFloat(string(m[i+1]), 64)
			if err != nil {
				t.Fatal(err)
			}
			v[i] = value
		}
		cycles = append(cycles, traced{v[0], v[1] + v[2] + v[3], v[1] + v[3]})
	}
	return cycles
}

func TestProbesAgreeWithGCTrace(t *testing.T) {
	for name, flags := range map[string][]string{
		"unstripped":           nil,
		"stripped":             {"-ldflags=-s -w"},
		"position-independent": {"-buildmode=pie"},
		"stripped PIE":         {"-buildmode=pie", "-ldflags=-s -w"},
	} {
		t.Run(name, func(t *testing.T) {
			opened := open(t)
			binary := filepath.Join(t.TempDir(), "gcload")
			build := exec.Command("go", append(append([]string{"build", "-o", binary}, flags...), "./testdata/gcload")...)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			agree(t, opened, func() *exec.Cmd { return exec.Command(binary) }, 2*time.Second)
		})
	}
}

// agree tries three times: on a busy machine either side can be preempted between a probe and the clock reading it
// belongs to, which varies between runs; a probe in the wrong place is wrong in all of them.
func agree(t *testing.T, opened *probes.Probes, command func() *exec.Cmd, duration time.Duration) {
	t.Helper()
	var complaints []string
	for range 3 {
		if complaints = observeAndCompare(t, opened, command(), duration); len(complaints) == 0 {
			return
		}
		t.Log(complaints)
	}
	t.Error(complaints)
}

func observeAndCompare(t *testing.T, opened *probes.Probes, command *exec.Cmd, duration time.Duration) []string {
	t.Helper()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	command.Env = append(os.Environ(), "GODEBUG=gctrace=1", "GOMAXPROCS=2")
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	launched := time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	time.Sleep(300 * time.Millisecond)
	offsets, err := goruntime.LocateInProcess("/proc", command.Process.Pid, goruntime.Phases)
	if err != nil {
		t.Fatal(err)
	}
	attachment, err := Attach(opened, "/proc", command.Process.Pid, 7, offsets)
	if err != nil {
		t.Fatal(err)
	}
	attached := time.Since(launched)
	time.Sleep(duration)
	var clock bpf.Clock
	clock.Set()
	tracker := Tracker{KnowsReasons: true}
	var cycles []Cycle
	for {
		process, moment, ok := Next(opened, &clock)
		if !ok {
			break
		}
		if process != 7 {
			t.Fatalf("moment of process %d", process)
		}
		if cycle, ended := tracker.Add(moment); ended {
			cycles = append(cycles, cycle)
		}
	}
	observed := time.Since(launched)
	if err := attachment.Close(); err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()
	_ = command.Wait()
	return compare(t, cycles, parseTrace(t, stderr.Bytes()), launched, attached, observed)
}

// compare returns what differs, nothing if all agrees.
func compare(t *testing.T, cycles []Cycle, trace []traced, launched time.Time, attached, observed time.Duration) []string {
	t.Helper()
	var complaints []string
	if len(cycles) < 5 {
		t.Fatalf("%d cycles, gctrace has %d", len(cycles), len(trace))
	}
	// gctrace counts from the start of the runtime, some milliseconds after the launch: align on the best match.
	first, best := 0, math.Inf(1)
	for i := 0; i+len(cycles) <= len(trace); i++ {
		distance := 0.0
		for k, cycle := range cycles {
			distance += math.Abs(float64(cycle.EndUS-cycle.StartUS)/1000 - trace[i+k].wallMS)
		}
		if distance < best {
			first, best = i, distance
		}
	}
	if math.IsInf(best, 1) {
		t.Fatalf("%d cycles, but gctrace has only %d", len(cycles), len(trace))
	}
	missed := 0
	for _, line := range trace {
		inside := line.startS > attached.Seconds()+0.05 && line.startS+line.wallMS/1000 < observed.Seconds()-0.05
		if inside && (line.startS < trace[first].startS || line.startS > trace[first+len(cycles)-1].startS) {
			missed++
		}
	}
	if missed > 0 {
		complaints = append(complaints, fmt.Sprintf("%d cycles of gctrace were not observed", missed))
	}
	base := float64(cycles[0].StartUS)/1e6 - trace[first].startS
	if skew := base - float64(launched.UnixMicro())/1e6; skew < -0.01 || skew > 1 {
		complaints = append(complaints, fmt.Sprintf("the cycles lie %.3f s from where gctrace has them", skew))
	}
	outliers := 0
	for k, cycle := range cycles {
		want := trace[first+k]
		wall, pause := float64(cycle.EndUS-cycle.StartUS)/1000, float64(cycle.PauseUS)/1000
		at := float64(cycle.StartUS)/1e6 - base
		if math.Abs(wall-want.wallMS) > 0.5+0.05*want.wallMS || math.Abs(pause-want.pauseMS) > 0.3+0.1*want.pauseMS ||
			math.Abs(at-want.startS) > 0.005 {
			outliers++
			t.Logf("cycle %d: %.3f ms, pause %.3f ms, at %.3f s; gctrace %+v", k, wall, pause, at, want)
		}
	}
	if outliers > len(cycles)/8 {
		complaints = append(complaints, fmt.Sprintf("%d of %d cycles differ", outliers, len(cycles)))
	}
	t.Logf("%d cycles, mean distance %.3f ms", len(cycles), best/float64(len(cycles)))
	return complaints
}
