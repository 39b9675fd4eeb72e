package flightrecorder

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// burnEnvironment makes the test binary a program that burns CPU time in the kernel.
const burnEnvironment = "JITTERSCOPE_TEST_BURN"

func TestMain(m *testing.M) {
	if os.Getenv(burnEnvironment) != "" {
		burnInKernel()
	}
	if how := os.Getenv(waitEnvironment); how != "" {
		waitForever(how)
	}
	os.Exit(m.Run())
}

// burnInKernel makes system calls that fail.
//
//go:noinline
func burnInKernel() {
	for range 100_000_000 {
		_ = unix.Access("/nonexistent-for-the-flight-recorder", unix.F_OK)
	}
	os.Exit(0)
}

func open(t *testing.T, change ...func(*Recorder)) *Recorder {
	t.Helper()
	r := New("/proc", "/sys")
	for _, each := range change {
		each(r)
	}
	if err := r.Open(); errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		testenv.Skip(t, "%v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestRecorderNamesWhatRuns records another process, which is not stripped and makes one system call all the time.
func TestRecorderNamesWhatRuns(t *testing.T) {
	r := open(t)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), burnEnvironment+"=1")
	r.Drain(time.Now().UnixMicro())
	r.Table(time.Now().UnixMicro())
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	from := time.Now()
	for range 3 {
		time.Sleep(700 * time.Millisecond)
		r.Drain(time.Now().UnixMicro())
		r.Table(time.Now().UnixMicro())
	}
	names := NewSymbols("/proc")
	capture := r.Capture(from.UnixMicro(), time.Now().UnixMicro()+1, names)
	if capture == nil {
		t.Fatal("nothing was recorded")
	}
	samples, inKernel, inUser := 0, 0, 0
	for i, stack := range capture.Stack {
		process := capture.Processes[capture.Process[i]]
		if int(process.Pid) != command.Process.Pid {
			continue
		}
		samples++
		if has(capture, capture.Stacks[stack].Kernel, "do_faccessat") {
			inKernel++
		}
		if has(capture, capture.Stacks[stack].User, "flightrecorder.burnInKernel") {
			inUser++
		}
	}
	// Other tests run concurrently: the share of the CPUs it gets is unknown.
	if samples < 20 || inUser < samples*8/10 || (names.Hidden() == nil && inKernel < samples/3) {
		t.Errorf("%d samples, %d of them in the kernel's function, %d in the program's", samples, inKernel, inUser)
	}
	var user, system, rows uint32
	for i, index := range capture.RowProcess {
		if process := capture.Processes[index]; int(process.Pid) == command.Process.Pid {
			rows++
			user, system = user+capture.RowUserUs[i], system+capture.RowSystemUs[i]
			if capture.RowState[i] < 'A' || capture.RowThreads[i] == 0 {
				t.Errorf("state %c, %d threads", rune(capture.RowState[i]), capture.RowThreads[i])
			}
		}
	}
	sampled := float64(samples) / RateHz * 1e6
	if spent := float64(user + system); rows == 0 || system == 0 || spent < sampled*0.7-50_000 || spent > sampled*1.4+50_000 {
		t.Errorf("%d rows: user %d us, system %d us; the samples say %.0f us", rows, user, system, sampled)
	}
	if !slices.IsSorted(capture.OffsetUs) || !slices.IsSorted(capture.RowOffsetUs) {
		t.Error("not sorted by time")
	}
}

// TestLossIsCounted overflows a ring that has room for some dozen samples.
func TestLossIsCounted(t *testing.T) {
	r := open(t, func(r *Recorder) { r.size.Ring = ringLeast })
	from := time.Now()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), burnEnvironment+"=1")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	for range 2 { // the kernel reports the loss with the first sample that fits again
		time.Sleep(1500 * time.Millisecond)
		r.Drain(time.Now().UnixMicro())
	}
	r.Drain(time.Now().UnixMicro())
	capture := r.Capture(from.UnixMicro(), time.Now().UnixMicro(), NewSymbols("/proc"))
	if capture == nil || len(capture.OffsetUs) == 0 || capture.LostSamples == 0 || r.Stats().Lost.Load() < capture.LostSamples {
		t.Fatalf("%d samples, %d lost", len(capture.GetOffsetUs()), capture.GetLostSamples())
	}
	if first := from.UnixMicro() + 700_000; capture.StartUs+int64(capture.OffsetUs[0]) > first {
		t.Error("the beginning was lost, not the end")
	}
}

func has(capture *ingestpb.Capture, frames []uint32, name string) bool {
	return slices.ContainsFunc(frames, func(frame uint32) bool { return strings.Contains(capture.Strings[frame], name) })
}

// TestCaptureIsBounded has thousands of different stacks.
func TestCaptureIsBounded(t *testing.T) {
	r := recorderWith(SizeFor(64))
	for i := range 50_000 {
		var stack []uint64
		for depth := range uint64(30) {
			stack = append(stack, 0x1000*(uint64(i%1500)+depth*7919))
		}
		r.store.add(base+int64(i)*100, i%64, 1+int32(i%100), frames(stack...), nil)
	}
	capture := r.Capture(base, base+sliceUS, NewSymbols("/nonexistent"))
	if size := proto.Size(capture); size > captureMost {
		t.Errorf("%d bytes", size)
	}
	if len(capture.OffsetUs) < 1000 || capture.RateHz >= RateHz {
		t.Errorf("%d samples at %g Hz", len(capture.OffsetUs), capture.RateHz)
	}
}
