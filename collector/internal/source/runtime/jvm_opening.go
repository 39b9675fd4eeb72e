package runtime

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/hsperf"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

const (
	// The JVM writes its time every 50 ms. Polling at this rate places its start to within a millisecond, and the more
	// fresh times are seen, the better: on a busy node a poll comes late.
	learnEvery = time.Millisecond
	learnLooks = 16   // fresh times
	learnMost  = 1500 // polls: a JVM that is not running now, or writes no time, is placed by its collections
)

// opening learns the clock of a JVM in the background.
type opening struct {
	done   chan struct{}
	err    error
	file   procfs.Held
	layout *hsperf.Layout
	clock  hsperf.Clock
	data   []byte
}

func open(file *os.File) *opening {
	o := &opening{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.err = o.learn(file)
		if o.err != nil {
			o.file.Close()
		}
	}()
	return o
}

func (o *opening) learn(file *os.File) (err error) {
	if o.file, err = procfs.HoldOpen(file); err != nil {
		return err
	}
	whole := make([]byte, hsperf.BytesMost)
	data, _ := o.file.Read(whole)
	if o.layout, err = hsperf.Parse(data); err != nil {
		return err
	}
	o.clock = o.layout.Clock(data)
	for looks, fresh := 0, 0; looks < learnMost && fresh < learnLooks; looks++ {
		time.Sleep(learnEvery)
		if data, _ = o.file.Read(whole[:o.layout.Used()]); o.clock.Look(data, monotonicNS()) {
			fresh++
		}
	}
	o.data = data
	return nil
}

// abandon waits for the end and closes what was opened.
func (o *opening) abandon() {
	<-o.done
	o.file.Close()
}

func monotonicNS() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}
