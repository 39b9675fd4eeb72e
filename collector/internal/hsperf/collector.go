package hsperf

import (
	"fmt"
	"strings"
)

// Collector is one of a JVM's collectors: of its young generation, its full collections, or the pauses of a concurrent
// one. The JVM counts a collection when it begins and adds its time when it ends; it keeps when the last one began and
// ended.
type Collector struct {
	Name string

	invocations, time, entry, exit Number
	last                           account
	known                          bool
}

type account struct {
	invocations, time, entry, exit int64
	running                        bool
}

func (a account) finished() int64 {
	if a.running {
		return a.invocations - 1
	}
	return a.invocations
}

// Collectors lists those whose time is a pause of the program.
func (l *Layout) Collectors(data []byte) (pausing []*Collector, others []string) {
	for i := 0; ; i++ {
		prefix := fmt.Sprintf("sun.gc.collector.%d.", i)
		name := l.Text(data, prefix+"name")
		if name == "" {
			return pausing, others
		}
		c := &Collector{
			Name: name, invocations: l.Number(prefix + "invocations"), time: l.Number(prefix + "time"),
			entry: l.Number(prefix + "lastEntryTime"), exit: l.Number(prefix + "lastExitTime"),
		}
		if pauses(name) && c.invocations.Known() && c.time.Known() && c.entry.Known() && c.exit.Known() {
			pausing = append(pausing, c)
		} else {
			others = append(others, name)
		}
	}
}

// pauses reports whether a collector of this name counts only the time for which it stopped the program. Those of
// Shenandoah also count concurrent work, one nested in the other.
func pauses(name string) bool {
	switch name {
	case "Copy", "MSC", "PCopy", "ParNew", "PSScavenge", "PSParallelCompact", "G1 incremental collections",
		"G1 stop-the-world full collections", "G1 stop-the-world phases", "CMS stop-the-world phases": // JDK 8 to 13
		return true
	}
	return strings.HasSuffix(name, "pauses") // Serial, Parallel, G1 and Z since JDK 14
}

// Span is a finished collection, in the JVM's clock.
type Span struct{ Begin, End int64 }

// Step is what a collector did since the last read, in time order: the collection that was running (Ended), another one
// (Whole), the one running now (Begun). Zero if there was none.
type Step struct {
	Ended, Whole Span
	Begun        int64
	Loose        int   // others that finished, at unknown times
	LooseTicks   int64 // total time of these
	Over         bool  // the one that was running has ended, though it is not known when
}

// Read compares the file with the last read. It does not allocate.
func (c *Collector) Read(data []byte) (s Step) {
	now := account{invocations: c.invocations.In(data), time: c.time.In(data), entry: c.entry.In(data), exit: c.exit.In(data)}
	now.running = now.entry > now.exit
	before := c.last
	if !c.known {
		c.last, c.known = now, true
		if now.running {
			s.Begun = now.entry
		}
		return s
	}
	done := now.finished() - before.finished()
	if done > 0 && now.exit == before.exit || now.time < before.time {
		return s // the JVM is between counting a collection and recording its begin: retry at the next tick
	}
	c.last = now
	if now.running && (done > 0 || !before.running) {
		s.Begun = now.entry
	}
	if done <= 0 {
		return s
	}
	loose, ticks := done, now.time-before.time
	place := func(span *Span, begin, end int64) {
		*span = Span{begin, end}
		loose--
		ticks -= end - begin
	}
	if !now.running && !(before.running && done == 1) {
		place(&s.Whole, now.entry, now.exit) // the last one
	}
	switch {
	case before.running && done == 1:
		place(&s.Ended, before.entry, now.exit)
	case before.running && done == 2 && s.Whole != Span{}:
		place(&s.Ended, before.entry, before.entry+ticks)
	case before.running:
		s.Over = true
	case now.running && done == 1:
		place(&s.Whole, now.exit-ticks, now.exit)
	}
	s.Loose, s.LooseTicks = int(loose), max(ticks, 0)
	return s
}
