package main

import (
	"os"
	"runtime"
	"time"

	"github.com/jitterscope/jitterscope/collector/bench/alternating"
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
	err = alternating.OnLastCPU(func() (err error) {
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
	before := alternating.ThreadTime()
	var clock bpf.Clock
	gc := gctrace.Tracker{KnowsReasons: true}
	for at := started.Add(100 * time.Millisecond); !at.After(started.Add(m.window)); at = at.Add(100 * time.Millisecond) {
		time.Sleep(time.Until(at))
		m.observer.tick(&clock, &gc)
	}
	m.observing += alternating.ThreadTime() - before
	m.watched += time.Since(started)
}

// result compares the windows.
func (m *measurement) result(parts string) result {
	c := alternating.Compare(m.off, m.on)
	return result{
		QueriesPerSecond: float64(m.answered) / m.elapsed.Seconds(), Windows: len(m.on) + len(m.off),
		OffUS: c.Off, OnUS: c.On, AddedRatio: c.Added, AddedLow: c.Low, AddedHigh: c.High,
		CollectorCPU: m.observing.Seconds() / m.watched.Seconds(), Cycles: m.observer.cycles, Parts: parts,
	}
}
