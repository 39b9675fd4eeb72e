package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/priority"
)

// row is one sample of a cgroup's counters. Times and durations are µs; throttledUs is summed over CPUs on v1, as the
// kernel counts it.
type row struct {
	AtUs, Periods, Throttled, ThrottledUs, UsageUs, Bursts int64
}

// counters reads cpu.stat (and, on v1, cpuacct.usage) at an absolute pace.
type counters struct {
	statFd, usageFd int
	everyNs         int64
	rows            []row
	buffer          []byte
}

func newCounters(cpuStat, cpuacctUsage string, every time.Duration, durationNs int64) (*counters, error) {
	s := &counters{usageFd: -1, everyNs: int64(every), buffer: make([]byte, 4096)}
	var err error
	if s.statFd, err = unix.Open(cpuStat, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return nil, &os.PathError{Op: "open", Path: cpuStat, Err: err}
	}
	if cpuacctUsage != "" {
		if s.usageFd, err = unix.Open(cpuacctUsage, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return nil, &os.PathError{Op: "open", Path: cpuacctUsage, Err: err}
		}
	}
	s.rows = make([]row, 0, durationNs/s.everyNs+1000)
	if _, err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

// start samples at multiples of its pace from startNs (wall clock), so that tick edges are read and not interpolated,
// and at a priority above ordinary work; the returned function stops it after one last sample.
func (s *counters) start(startNs int64) func() error {
	var stop atomic.Bool
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its priority
		priority.Raise()
		offset := monotonicNs() - time.Now().UnixNano()
		for at := (startNs + s.everyNs - 1) / s.everyNs * s.everyNs; ; at += s.everyNs {
			if err := sleepUntil(at + offset); err != nil {
				done <- err
				return
			}
			last := stop.Load()
			r, err := s.read()
			if err != nil || last {
				if err == nil {
					s.rows = append(s.rows, r)
				}
				done <- err
				return
			}
			s.rows = append(s.rows, r)
		}
	}()
	return func() error {
		stop.Store(true)
		return <-done
	}
}

func (s *counters) read() (row, error) {
	before := time.Now().UnixNano()
	n, err := unix.Pread(s.statFd, s.buffer, 0)
	if err != nil {
		return row{}, fmt.Errorf("reading cpu.stat: %w", err)
	}
	r := parseStat(s.buffer[:n])
	if s.usageFd >= 0 {
		if n, err = unix.Pread(s.usageFd, s.buffer, 0); err != nil {
			return row{}, fmt.Errorf("reading cpuacct.usage: %w", err)
		}
		usageNs, err := strconv.ParseInt(string(bytes.TrimSpace(s.buffer[:n])), 10, 64)
		if err != nil {
			return row{}, errors.New("cpuacct.usage does not hold a number")
		}
		r.UsageUs = usageNs / 1000
	}
	r.AtUs = (before + time.Now().UnixNano()) / 2000
	return r, nil
}

// parseStat reads cpu.stat of either version.
func parseStat(text []byte) row {
	var r row
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		number, _ := strconv.ParseInt(string(value), 10, 64)
		switch string(key) {
		case "nr_periods":
			r.Periods = number
		case "nr_throttled":
			r.Throttled = number
		case "throttled_time": // v1, ns
			r.ThrottledUs = number / 1000
		case "throttled_usec":
			r.ThrottledUs = number
		case "usage_usec":
			r.UsageUs = number
		case "nr_bursts":
			r.Bursts = number
		}
	}
	return r
}
