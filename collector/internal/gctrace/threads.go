package gctrace

// ThreadTimes is what one thread did in a tick, from /proc/PID/task/TID/schedstat.
type ThreadTimes struct {
	CPUUS  int64 // on a CPU
	Slices int64 // times it was put on one
}

// A thread behaves like a mark worker if it computes for a long time without blocking.
const (
	workerCPUUS   = 15_000
	workerSliceUS = 1_000
	quietTicks    = 2   // a throttled cycle pauses this long
	memoryTicks   = 300 // 30 s
	mostActive    = 0.5
)

// ThreadTracker guesses GC cycles from what the threads of a process do, if nothing better is available. During marking
// several threads compute at once without blocking. A burst of requests can look the same, so users of the result must
// treat it as a hint (event attribute source=threads).
type ThreadTracker struct {
	startUS, lastUS int64 // of the suspected cycle, 0: none
	quiet           int
	history         [memoryTicks]bool
	at, active, n   int
}

// Tick takes what the threads did in the tick [startUS, endUS). It reports whether the tick looks like marking, and
// returns the suspected cycle that ended, if one did. A process that looks like that most of the time is simply busy:
// then nothing is suspected.
func (t *ThreadTracker) Tick(startUS, endUS int64, threads []ThreadTimes) (marking bool, cycle Cycle, ended bool) {
	workers := 0
	for _, thread := range threads {
		if thread.CPUUS >= workerCPUUS && thread.CPUUS >= workerSliceUS*max(thread.Slices, 1) {
			workers++
		}
	}
	marking = workers >= 2
	t.remember(marking)
	if t.n < memoryTicks/10 || float64(t.active) > mostActive*float64(t.n) {
		t.startUS = 0
		return false, Cycle{}, false
	}
	switch {
	case marking:
		if t.startUS == 0 {
			t.startUS = startUS
		}
		t.lastUS, t.quiet = endUS, 0
	case t.startUS != 0:
		if t.quiet++; t.quiet > quietTicks {
			cycle, ended = Cycle{StartUS: t.startUS, EndUS: t.lastUS}, true
			t.startUS = 0
		}
	}
	return marking, cycle, ended
}

func (t *ThreadTracker) remember(marking bool) {
	if t.n == memoryTicks {
		if t.history[t.at] {
			t.active--
		}
	} else {
		t.n++
	}
	t.history[t.at] = marking
	if marking {
		t.active++
	}
	t.at = (t.at + 1) % memoryTicks
}
