package alternating

import (
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Comparison is how much more is paid with than without.
type Comparison struct {
	Off, On   float64 // medians
	Added     float64 // median of the pairs' ratios, less 1
	Low, High float64 // 95 % interval of that median (order statistics)
}

// Compare compares windows in pairs: off[i] and on[i] were measured one after the other.
func Compare(off, on []float64) Comparison {
	ratios := make([]float64, len(on))
	for i := range ratios {
		ratios[i] = on[i]/off[i] - 1
	}
	slices.Sort(ratios)
	n := float64(len(ratios))
	spread := 0.98 * math.Sqrt(n)
	low, high := int(math.Floor(n/2-spread)), int(math.Ceil(n/2+spread))
	return Comparison{
		Off: Median(off), On: Median(on), Added: Median(ratios),
		Low: ratios[max(low, 0)], High: ratios[min(high, len(ratios)-1)],
	}
}

// Median is the mean of the two in the middle where their number is even.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// ThreadTime is the CPU time of the calling thread.
func ThreadTime() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}

// ProcessTime reads the CPU clock of a process, MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED).
func ProcessTime(pid int) (time.Duration, error) {
	var now unix.Timespec
	err := unix.ClockGettime(int32(^pid)<<3|2, &now)
	return time.Duration(now.Nano()), err
}
