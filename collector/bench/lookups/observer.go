package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/lookups"
)

// observer traces as the collector's source does: it takes what was told every 100 ms.
type observer struct {
	tracer   *lookups.Tracer
	table    *lookups.Table
	before   uint64
	failures uint64
	spent    time.Duration // CPU time of the thread
	watched  time.Duration
	stop     chan struct{}
	done     chan struct{}
}

func newObserver() (*observer, error) {
	tracer, err := lookups.Open(false)
	if err != nil {
		return nil, err
	}
	return &observer{tracer: tracer, table: lookups.NewTable()}, nil
}

func (o *observer) switchOn() error {
	if err := o.tracer.Attach(); err != nil {
		return err
	}
	o.stop, o.done, o.failures = make(chan struct{}), make(chan struct{}), 0
	o.before, _ = o.tracer.Tick()
	go o.loop()
	return nil
}

func (o *observer) loop() {
	defer close(o.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpu, began := threadTime(), time.Now()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for stopped := false; !stopped; {
		select {
		case <-ticker.C:
		case <-o.stop:
			stopped = true
		}
		var lookup lookups.Lookup
		for o.tracer.Next(&lookup) {
			o.table.Add(&lookup)
		}
		after, _ := o.tracer.Tick()
		o.table.EndTick(after-o.before, func(uint64, float64) {})
		o.failures += after - o.before
		o.before = after
	}
	o.spent += threadTime() - cpu
	o.watched += time.Since(began)
}

// switchOff ends tracing. All calls of the storm must have been counted, and named where they are what is looked for.
func (o *observer) switchOff(pid, calls int, fail bool) error {
	err := o.tracer.Detach()
	close(o.stop)
	<-o.done
	if err != nil || !fail {
		return err
	}
	if o.failures < uint64(calls)*99/100 {
		return fmt.Errorf("%d failing lookups were made and only %d counted", calls, o.failures)
	}
	taken := lookups.NewTable()
	o.table.Take(taken)
	if rows := taken.Rows(); len(rows) == 0 || rows[0].PID != uint32(pid) {
		return fmt.Errorf("the storm was not named: %+v", rows)
	}
	return nil
}

func (o *observer) close() { _ = o.tracer.Close() }
