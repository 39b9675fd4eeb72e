package main

import (
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/gctrace"
)

const settle = 100 * time.Millisecond // between switching and measuring

func run(executable string, qps float64, pairs int, window time.Duration, parts string) (result, error) {
	executable, err := findCoreDNS(executable)
	if err != nil {
		return result{}, err
	}
	directory, err := os.MkdirTemp("", "jitterscope-overhead-")
	if err != nil {
		return result{}, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	var s *server
	err = onLastCPU(func() (err error) {
		s, err = startCoreDNS(executable, directory)
		return err
	})
	if err != nil {
		return result{}, err
	}
	defer s.stop()
	stopLoad, err := s.load.start(qps)
	if err != nil {
		return result{}, err
	}
	defer stopLoad()
	if err := waitReady(s.load); err != nil {
		return result{}, err
	}
	o, err := newObserver(s, parts)
	if err != nil {
		return result{}, err
	}
	time.Sleep(2 * time.Second)
	m := &measurement{server: s, observer: o, window: window}
	for pair := range pairs {
		// Off-on, then on-off: a drift does not favour either.
		for _, on := range []bool{pair%2 == 1, pair%2 == 0} {
			if err := m.measure(on); err != nil {
				return result{}, err
			}
		}
	}
	return m.result(parts), nil
}

type measurement struct {
	server    *server
	observer  *observer
	window    time.Duration
	off, on   []float64 // CPU microseconds per query of each window
	answered  uint64
	elapsed   time.Duration
	observing time.Duration // CPU time of the observer
	watched   time.Duration
}

func (m *measurement) measure(on bool) error {
	if on {
		if err := m.observer.switchOn(); err != nil {
			return err
		}
	}
	time.Sleep(settle)
	cpu, err := m.server.cpuTime()
	if err != nil {
		return err
	}
	answered, started := m.server.load.answered.Load(), time.Now()
	m.observe(on, started)
	after, err := m.server.cpuTime()
	if err != nil {
		return err
	}
	queries := m.server.load.answered.Load() - answered
	m.answered += queries
	m.elapsed += time.Since(started)
	cost := float64((after - cpu).Nanoseconds()) / 1000 / float64(queries)
	if !on {
		m.off = append(m.off, cost)
		return nil
	}
	m.on = append(m.on, cost)
	return m.observer.switchOff()
}

// observe ticks, or waits, for a window. The thread's own CPU time is what observing costs the observer.
func (m *measurement) observe(on bool, started time.Time) {
	if !on {
		time.Sleep(time.Until(started.Add(m.window)))
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	var clock bpf.Clock
	gc := gctrace.Tracker{KnowsReasons: true}
	for at := started.Add(100 * time.Millisecond); !at.After(started.Add(m.window)); at = at.Add(100 * time.Millisecond) {
		time.Sleep(time.Until(at))
		m.observer.tick(&clock, &gc)
	}
	m.observing += threadTime() - before
	m.watched += time.Since(started)
}

func threadTime() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}

// result compares the windows in pairs. The interval is that of the median of the pairs' ratios (order statistics).
func (m *measurement) result(parts string) result {
	ratios := make([]float64, len(m.on))
	for i := range ratios {
		ratios[i] = m.on[i]/m.off[i] - 1
	}
	slices.Sort(ratios)
	n := float64(len(ratios))
	spread := 0.98 * math.Sqrt(n)
	low, high := int(math.Floor(n/2-spread)), int(math.Ceil(n/2+spread))
	return result{
		QueriesPerSecond: float64(m.answered) / m.elapsed.Seconds(), Windows: len(m.on) + len(m.off),
		OffUS: median(m.off), OnUS: median(m.on), AddedRatio: median(ratios),
		AddedLow: ratios[max(low, 0)], AddedHigh: ratios[min(high, len(ratios)-1)],
		CollectorCPU: m.observing.Seconds() / m.watched.Seconds(), Cycles: m.observer.cycles, Parts: parts,
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
