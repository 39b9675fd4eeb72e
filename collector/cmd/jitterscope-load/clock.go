package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func monotonicNs() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // cannot fail with a valid clock
	}
	return now.Nano()
}

// sleepUntil waits for an absolute monotonic time; if it has passed, it returns at once.
func sleepUntil(deadlineNs int64) error {
	if monotonicNs() >= deadlineNs {
		return nil
	}
	deadline := unix.NsecToTimespec(deadlineNs)
	for {
		err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &deadline, nil)
		if err == nil {
			return nil
		}
		if err != unix.EINTR {
			return fmt.Errorf("sleeping: %w", err)
		}
	}
}
