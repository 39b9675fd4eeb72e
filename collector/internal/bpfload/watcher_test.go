package bpfload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/rlimit"

	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// branchy is a program whose branches the verifier must distinguish: it walks through about 2^depth paths of each
// block.
func branchy(blocks, depth int) asm.Instructions {
	program := asm.Instructions{asm.Mov.Reg(asm.R9, asm.R1)}
	for block := range blocks {
		program = append(program, asm.Mov.Imm(asm.R6, 0))
		for level := range depth {
			joined := fmt.Sprintf("joined%d_%d", block, level)
			program = append(program,
				asm.LSh.Imm(asm.R6, 1),
				asm.LoadMem(asm.R2, asm.R9, 0, asm.Word), // __sk_buff.len, which can be anything
				asm.JEq.Imm(asm.R2, int32(level), joined),
				asm.Or.Imm(asm.R6, 1),
				asm.Mov.Reg(asm.R3, asm.R6).WithSymbol(joined),
			)
		}
		program = append(program, asm.JGT.Imm(asm.R6, 1<<depth, "end"))
	}
	return append(program, asm.Mov.Imm(asm.R0, 0).WithSymbol("end"), asm.Return())
}

// TestDurationsMatchTheLoadersClock loads programs that take the verifier from 20 ms to 1 s and compares what the
// kernel reports with the loader's own clock around the system call.
func TestDurationsMatchTheLoadersClock(t *testing.T) {
	watcher, loads := watch(t)
	_ = rlimit.RemoveMemlock()

	// The first load probes the kernel's features, which does not count toward any program.
	load(t, &ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: branchy(1, 1)})
	const tolerance = 0.02
	sizes := []struct{ blocks, depth int }{{10, 8}, {10, 10}, {20, 11}, {40, 11}}
	for number, size := range sizes {
		spec := ebpf.ProgramSpec{
			Name: fmt.Sprintf("branchy_%d", number), Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: branchy(size.blocks, size.depth),
		}
		off := math.Inf(1)
		// The loader can be preempted between the call and reading its clock: that is not part of the call.
		for try := 0; try < 6 && math.Abs(off) > tolerance; try++ {
			took, verified, end := load(t, &spec)
			got := next(t, loads, spec.Name)
			off = float64(got.DurationUS)/float64(took.Microseconds()) - 1
			t.Logf("%s: %d verified instructions, loader's clock %v, reported %d us: %+.2f %%", spec.Name, verified, took, got.DurationUS, 100*off)
			if got.PID != uint32(os.Getpid()) || got.Type != "sched_cls" || got.Verified != verified || got.Gone || got.Instructions == 0 {
				t.Errorf("told %+v, want %d verified instructions", got, verified)
			}
			if got.EndUS > end.UnixMicro()+1 || got.EndUS < end.UnixMicro()-took.Microseconds() {
				t.Errorf("%s ended at %d, the loader was back at %d", spec.Name, got.EndUS, end.UnixMicro())
			}
		}
		if math.Abs(off) > tolerance {
			t.Errorf("%s: off by %.2f %%", spec.Name, 100*off)
		}
	}
	if lost := watcher.Lost(); lost != 0 {
		t.Errorf("%d loads were lost", lost)
	}
}

// TestOthersListenToo lets several watchers see the same loads: the kernel makes the record of each listener longer
// than that of the one before it (perf_event_bpf_output does not reset the size), with garbage at its end.
func TestOthersListenToo(t *testing.T) {
	var all []<-chan Load
	for range 3 {
		_, loads := watch(t)
		all = append(all, loads)
	}
	_ = rlimit.RemoveMemlock()
	spec := ebpf.ProgramSpec{Name: "heard_by_all", Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: branchy(10, 8)}
	for range 20 {
		took, _, end := load(t, &spec)
		for number, loads := range all {
			got := next(t, loads, spec.Name)
			if got.EndUS > end.UnixMicro()+1 || got.EndUS < end.UnixMicro()-took.Microseconds() || got.DurationUS > took.Microseconds() {
				t.Errorf("listener %d was told %+v, the load took %v and ended at %d", number, got, took, end.UnixMicro())
			}
		}
	}
}

// watch waits for loads until the test ends.
func watch(t *testing.T) (*Watcher, <-chan Load) {
	t.Helper()
	watcher, err := Open(runtime.NumCPU())
	if errors.Is(err, os.ErrPermission) {
		testenv.Skip(t, "%v; needs %s", err, Needs)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	loads := make(chan Load, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		watcher.Run(ctx, func(load Load) { loads <- load })
	}()
	t.Cleanup(func() { cancel(); <-done; watcher.Close() })
	return watcher, loads
}

// load loads a program and unloads it a moment later.
func load(t *testing.T, spec *ebpf.ProgramSpec) (took time.Duration, verified uint32, end time.Time) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := time.Now()
	program, err := ebpf.NewProgramWithOptions(spec, ebpf.ProgramOptions{LogDisabled: true})
	end = time.Now()
	if err != nil {
		t.Fatal(err)
	}
	info, err := program.Info()
	if err != nil {
		t.Fatal(err)
	}
	verified, _ = info.VerifiedInstructions()
	t.Cleanup(func() { _ = program.Close() }) // the watcher queries the kernel about it some time later
	return end.Sub(begin), verified, end
}

// next waits for the report of a program of this process.
func next(t *testing.T, loads <-chan Load, name string) Load {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		select {
		case load := <-loads:
			if load.PID == uint32(os.Getpid()) && load.Name == name {
				return load
			}
		case <-late:
			t.Fatalf("%s was not reported", name)
		}
	}
}
