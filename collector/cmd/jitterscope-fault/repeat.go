package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// repeated is what repeat prints. `Failures`: failing lookups of all runs together, counted by the kernel.
type repeated struct {
	Starts   int         `json:"starts"`
	Failures uint64      `json:"failures"`
	TookUs   []int64     `json:"took_us"`
	Readings [][2]uint64 `json:"readings"` // µs since the epoch, failures until then
	CPUUs    int64       `json:"cpu_us"`
}

// repeat runs a program again and again, one at a time, as short-lived tools run on a node, and counts the failing
// lookups of all runs.
func repeat(arguments []string) (any, error) {
	flags := flag.NewFlagSet("repeat", flag.ContinueOnError)
	rate := flags.Float64("per-second", 1, "starts per second; a start that would overlap waits")
	seconds := flags.Float64("seconds", 10, "how long")
	failures := flags.Uint64("failures", 0, "end after this many failing lookups; 0: no limit")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	command := flags.Args()
	if len(command) == 0 || *rate <= 0 {
		return nil, errors.New("want --per-second above 0 and, after the options, the program to start")
	}
	// Children inherit the counters of the thread that starts them.
	runtime.LockOSThread()
	counter, err := countFailures()
	if err != nil {
		return nil, err
	}
	defer counter.close()
	var done repeated
	begin := time.Now()
	for time.Since(begin).Seconds() < *seconds && (*failures == 0 || done.Failures < *failures) {
		time.Sleep(time.Until(begin.Add(time.Duration(float64(done.Starts) / *rate * 1e9))))
		started := time.Now()
		state, err := start(command)
		if err != nil {
			return nil, err
		}
		done.Starts++
		done.TookUs = append(done.TookUs, time.Since(started).Microseconds())
		done.CPUUs += (state.UserTime() + state.SystemTime()).Microseconds()
		if done.Failures, err = counter.read(); err != nil {
			return nil, err
		}
		done.Readings = append(done.Readings, [2]uint64{uint64(time.Now().UnixMicro()), done.Failures})
	}
	return done, nil
}

func start(command []string) (*os.ProcessState, error) {
	child := exec.Command(command[0], command[1:]...)
	child.Stdout, child.SysProcAttr = io.Discard, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	child.Stderr = os.Stderr
	if err := child.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	return child.ProcessState, nil
}
