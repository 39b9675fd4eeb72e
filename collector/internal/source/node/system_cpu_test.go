package node

import "testing"

// kernelTime simulates ticks with a number of CPUs in the kernel and counts triggers.
type kernelTime struct {
	watch         systemCPU
	atUS          int64
	kernel, total float64
}

func (k *kernelTime) play(ticks int, cpus, inKernel float64) (triggers int) {
	for range ticks {
		k.atUS += 100_000
		k.kernel += inKernel * 100_000
		k.total += cpus * 100_000
		round := func(us float64) uint64 { return uint64(us) / 10_000 * 10_000 } // as the kernel counts
		if k.watch.update(k.atUS, round(k.kernel), round(k.total)) {
			triggers++
		}
	}
	return triggers
}

func TestSystemCPU(t *testing.T) {
	for _, cpus := range []float64{1, 2, 4, 64} {
		k := &kernelTime{}
		if n := k.play(600, cpus, 0.1); n != 0 {
			t.Errorf("%g CPUs, quiet: %d triggers", cpus, n)
		}
		if n := k.play(30, cpus, min(cpus, 0.1+1.1*(systemRise+systemRiseEach*(cpus-1)))); n != 1 {
			t.Errorf("%g CPUs, busy in the kernel for 3 s: %d triggers", cpus, n)
		}
		if n := k.play(100, cpus, 0.1); n != 0 {
			t.Errorf("%g CPUs, quiet again: %d triggers", cpus, n)
		}
		if n := k.play(30, cpus, cpus); n != 1 {
			t.Errorf("%g CPUs, the second time: %d triggers", cpus, n)
		}
	}
}

func TestSystemCPUThatIsAlwaysHigh(t *testing.T) {
	k := &kernelTime{}
	if n := k.play(3000, 2, 1.5); n != 0 {
		t.Errorf("%d triggers where it is as usual", n)
	}
}

func TestSystemCPUThatStays(t *testing.T) {
	k := &kernelTime{}
	k.play(600, 8, 0.2)
	if n := k.play(1300, 8, 7); n < 2 || n > 3 {
		t.Errorf("%d triggers in 130 s", n)
	}
}

// TestSystemCPUAfterAStall: ticks are missing, but the counters continued.
func TestSystemCPUAfterAStall(t *testing.T) {
	k := &kernelTime{}
	k.play(100, 2, 0.1)
	k.atUS, k.kernel, k.total = k.atUS+20_000_000, k.kernel+36_000_000, k.total+40_000_000
	if n := k.play(1, 2, 0.1); n != 1 {
		t.Errorf("%d triggers after 20 s in the kernel", n)
	}
}
