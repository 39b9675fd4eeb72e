package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/flightrecorder"
)

// gap is a time in which a loop that only reads the clock did not run.
type gap struct{ beginUS, endUS float64 } // since the Unix epoch

const (
	gapLeast = 400 * time.Nanosecond // a turn of the loop takes a tenth of that
	depth    = 40                    // frames below the loop, to be walked for each sample
)

// measureSampling runs a loop that notices its own interruptions on one CPU, and finds those that were samples by the time
// of the sample. What others take from the loop does not count.
func measureSampling(r *result, duration time.Duration) error {
	recorder := flightrecorder.New("/proc", "/sys")
	if err := recorder.Open(); err != nil {
		return err
	}
	defer recorder.Close()
	from := time.Now()
	load := startLoad(runtime.NumCPU() - 1)
	gaps := make(chan []gap)
	go func() {
		runtime.LockOSThread()
		gaps <- deep(depth, duration)
	}()
	found := <-gaps
	load()
	recorder.Drain(time.Now().UnixMicro())
	recorder.Table(time.Now().UnixMicro())
	names := flightrecorder.NewSymbols("/proc")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, into := range []*float64{&r.FirstCaptureMS, &r.NextCaptureMS} {
		before := threadCPU()
		capture := recorder.Capture(from.UnixMicro(), time.Now().UnixMicro(), names)
		*into = (threadCPU() - before).Seconds() * 1e3
		if capture == nil {
			return errors.New("nothing was recorded")
		}
		r.CaptureKiB = float64(proto.Size(capture)) / 1024
		if into == &r.NextCaptureMS {
			break
		}
		var costs []float64
		for i, offset := range capture.OffsetUs {
			if int(capture.Processes[capture.Process[i]].Pid) != os.Getpid() {
				continue
			}
			if cost, ok := costOf(found, float64(capture.StartUs+int64(offset))); ok {
				costs = append(costs, cost)
			}
		}
		if len(costs) < 100 {
			return fmt.Errorf("only %d samples hit the loop; measure for longer", len(costs))
		}
		var others []float64
		for _, each := range found {
			if length := each.endUS - each.beginUS; length > 5 && length < ranOtherUS {
				others = append(others, length)
			}
		}
		slices.Sort(others)
		r.TickUS = others[len(others)/2]
		slices.Sort(costs)
		sum := 0.0
		for _, cost := range costs {
			sum += cost
		}
		r.Samples, r.SampleUS, r.SampleP50US, r.SampleP99US = len(costs), sum/float64(len(costs)), costs[len(costs)/2], costs[len(costs)*99/100]
	}
	return nil
}

// ranOtherUS is the length from which on a gap is a time in which another program ran.
const ranOtherUS = 100

// costOf returns the length of the gap in which a sample was taken.
func costOf(gaps []gap, us float64) (cost float64, ok bool) {
	const clocksDiffer = 3
	i, _ := slices.BinarySearchFunc(gaps, us, func(g gap, at float64) int {
		if g.endUS+clocksDiffer < at {
			return -1
		}
		return 1
	})
	best := math.Inf(1)
	for ; i < len(gaps) && gaps[i].beginUS-clocksDiffer <= us; i++ {
		g := gaps[i]
		if distance := max(g.beginUS-us, us-g.endUS, 0); distance < best && g.endUS-g.beginUS < ranOtherUS {
			best, cost, ok = distance, g.endUS-g.beginUS, true
		}
	}
	return cost, ok
}

// deep calls itself so that the loop has a stack like that of a real program.
//
//go:noinline
func deep(frames int, duration time.Duration) []gap {
	if frames > 0 {
		gaps := deep(frames-1, duration)
		return gaps[:len(gaps):len(gaps)] // not a tail call
	}
	gaps := make([]gap, 0, 1<<20)
	begin := time.Now()
	beginUS := float64(begin.UnixNano()) / 1e3
	for last := time.Duration(0); last < duration && len(gaps) < cap(gaps); {
		now := time.Since(begin)
		if now-last >= gapLeast {
			gaps = append(gaps, gap{beginUS + float64(last.Nanoseconds())/1e3, beginUS + float64(now.Nanoseconds())/1e3})
		}
		last = now
	}
	return gaps
}

// startLoad keeps CPUs busy with calls of the kernel, and has a short process each 50 ms.
func startLoad(cpus int) (stop func()) {
	self, err := os.Executable()
	fail(err)
	var burners []*exec.Cmd
	for range cpus {
		burner := exec.Command(self, "burn")
		fail(burner.Start())
		burners = append(burners, burner)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				_ = exec.Command("true").Run()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		for _, burner := range burners {
			_ = burner.Process.Kill()
			_ = burner.Wait()
		}
	}
}

// burn makes system calls and computes between them. It ends with its parent.
func burn() {
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	parent := os.Getppid()
	sum := 0
	for os.Getppid() == parent {
		for i := range 20_000 {
			sum += i * sum
		}
		_ = unix.Access("/nonexistent-for-the-bench", unix.F_OK)
	}
	runtime.KeepAlive(sum)
}

func threadCPU() time.Duration {
	var used unix.Timespec
	fail(unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used))
	return time.Duration(used.Nano())
}
