package bpf

import "golang.org/x/sys/unix"

// Clock converts CLOCK_MONOTONIC, which the programs use for timestamps, to the wall clock. Set it anew every tick: the
// wall clock is slewed and stepped, the monotonic clock is not.
type Clock struct{ offsetNS int64 }

// Set reads both clocks.
func (c *Clock) Set() { c.offsetNS = WallOffsetNS(unix.CLOCK_MONOTONIC) }

// NS converts to nanoseconds since the Unix epoch.
func (c *Clock) NS(monotonic uint64) int64 { return int64(monotonic) + c.offsetNS }

// WallOffsetNS is what to add now to a kernel clock (clock_gettime(2)) to get nanoseconds since the Unix epoch. It
// reads that clock twice around the wall clock and keeps the tightest of three tries: being preempted between two
// readings would shift everything.
func WallOffsetNS(clock int32) int64 {
	var before, wall, after unix.Timespec
	best, offset := int64(1<<62), int64(0)
	for range 3 {
		_ = unix.ClockGettime(clock, &before)
		_ = unix.ClockGettime(unix.CLOCK_REALTIME, &wall)
		_ = unix.ClockGettime(clock, &after)
		if spread := after.Nano() - before.Nano(); spread < best {
			best = spread
			offset = wall.Nano() - (before.Nano() + spread/2)
		}
	}
	return offset
}
