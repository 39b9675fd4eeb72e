package main

import (
	"errors"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/dnspath"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/gctrace"
	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
	"github.com/jitterscope/jitterscope/collector/internal/probes"
)

// observer is the parts of the collector that touch the observed process, used as its sources use them.
type observer struct {
	parts   string
	pid     int
	port    uint16
	offsets map[string]uint64
	probes  *probes.Probes
	tracker *dnscapture.Tracker
	cycles  int

	attachment *probes.Attachment
	socket     *dnscapture.Socket
	split      *dnspath.Split
}

func newObserver(s *server, parts string) (*observer, error) {
	o := &observer{parts: parts, pid: s.command.Process.Pid, port: s.address.AddrPort().Port(), tracker: dnscapture.NewTracker()}
	var err error
	if o.offsets, err = goruntime.LocateInProcess("/proc", o.pid, goruntime.Phases); err != nil {
		return nil, err
	}
	if o.probes, err = probes.Open(probes.FewHits); err != nil {
		return nil, err
	}
	slot := batch.Slot(0)
	key := dnscapture.ServerKey{Endpoint: dnswire.Endpoint{
		Address: dnswire.Address(s.address.IP.To16()), Port: o.port,
	}}
	series := func(batch.ResourceID, uint32) batch.Slot { slot++; return slot }
	return o, o.tracker.Add(dnscapture.NewServer(key, 1, 2, 3, time.Now().UnixNano(), series))
}

// switchOn begins to observe.
func (o *observer) switchOn() (err error) {
	if strings.Contains(o.parts, "probes") {
		if o.attachment, err = gctrace.Attach(o.probes, "/proc", o.pid, 1, o.offsets); err != nil {
			return err
		}
	}
	if strings.Contains(o.parts, "split") {
		if o.split, err = dnspath.Open(); err != nil {
			return err
		}
		if err := o.split.SetPorts([]uint16{o.port}); err != nil {
			return err
		}
	}
	if strings.Contains(o.parts, "packets") {
		if o.socket, err = dnscapture.Open(dnscapture.Ring, []uint16{53, o.port}); err != nil {
			return err
		}
		o.socket.SetOutgoing(false) // as for any server on loopback
	}
	return nil
}

// discard takes what the tracker records.
type discard struct{}

func (discard) SetAt(int, batch.Slot, float64)                               {}
func (discard) Distribution(int, batch.ResourceID, uint32, *batch.Histogram) {}
func (discard) Trigger(batch.ResourceID, string, int64)                      {}
func notThrottled(*dnscapture.Server) bool                                   { return false }

// tick does what the sources do each tick.
func (o *observer) tick(clock *bpf.Clock, gc *gctrace.Tracker) {
	now := time.Now()
	clock.Set()
	o.tracker.Lock()
	defer o.tracker.Unlock()
	if o.split != nil {
		o.split.Drain(clock, o.tracker.Read)
	}
	var packet dnscapture.Packet
	for o.socket != nil && o.socket.Next(now.UnixNano(), &packet) {
		o.tracker.Packet(0, &packet)
		o.socket.Done()
	}
	o.tracker.Tick(0, now.UnixMicro(), discard{}, notThrottled)
	for {
		_, moment, ok := gctrace.Next(o.probes, clock)
		if !ok {
			return
		}
		if _, ended := gc.Add(moment); ended {
			o.cycles++
		}
	}
}

// switchOff ends it.
func (o *observer) switchOff() error {
	var errs []error
	if o.attachment != nil {
		errs = append(errs, o.attachment.Close())
		o.attachment = nil
	}
	if o.socket != nil {
		errs = append(errs, o.socket.Close())
		o.socket = nil
	}
	if o.split != nil {
		errs = append(errs, o.split.Close())
		o.split = nil
	}
	return errors.Join(errs...)
}
