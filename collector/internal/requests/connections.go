package requests

import (
	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

// Reasons for requesting a diagnosis, besides slow requests.
const (
	dropped        = "listen_drop"
	retransmission = "retransmission"
	slowHandshake  = "slow_handshake"
	triggerEveryNS = 1_000_000_000
	synackUS       = 1_000_000 // a SYN-ACK was retransmitted
)

// connections counts what happened to a server's connections in the current tick, and holds its series.
type connections struct {
	opened, again              uint32
	synacks, resent            uint32
	handshake                  batch.Histogram
	delay, fastDelay           batch.Histogram // of data that waited for a timer, and of other retransmitted data
	openedSlot, queueSlot      batch.Slot
	dropsSlot, synacksSlot     batch.Slot
	resentSlot, againSlot      batch.Slot
	lateNS, slowNS             int64 // when late data was retransmitted, and when a handshake was slow; 0: never
	toldDropsNS, toldResendsNS int64
	toldSlowNS                 int64
}

func newConnections(resource batch.ResourceID, series func(batch.ResourceID, uint32) batch.Slot) connections {
	return connections{
		openedSlot: series(resource, catalogue.ConnectionsOpened), queueSlot: series(resource, catalogue.AcceptQueue),
		dropsSlot: series(resource, catalogue.ListenDrops), synacksSlot: series(resource, catalogue.SynackRetransmits),
		resentSlot: series(resource, catalogue.Retransmits),
		againSlot:  series(resource, catalogue.Reconnections),
	}
}

// take counts what the programs report besides requests.
func (c *connections) take(record *bpf.RequestsRequest, endedNS int64) {
	took := int64(microseconds(record.EndedNs - record.CameNs))
	switch record.End {
	case connected:
		c.opened++
		if took > 0 { // otherwise the kernel did not measure it: with SYN cookies
			c.handshake.Observe(took)
		}
		if record.ReadNs != 0 {
			c.again++
		}
		// A single connection of a distant client is not noteworthy.
		if took >= synackUS || record.ReadNs != 0 && took > catalogue.SlowUS {
			c.slowNS = endedNS
		}
	case synackResent:
		c.synacks++
	case resent:
		c.resent += uint32(record.ReadNs)
		if took > catalogue.SlowUS {
			c.lateNS = endedNS
		}
	case recovered:
		if record.ReadNs != 0 {
			c.delay.Observe(took)
		} else {
			c.fastDelay.Observe(took)
		}
	}
}

// ask requests a diagnosis if a client waits for more than an answer.
func (c *connections) ask(server *Server, nowNS int64, resource batch.ResourceID, recorder Recorder) {
	if server.drops > 0 && nowNS-c.toldDropsNS >= triggerEveryNS {
		c.toldDropsNS = nowNS
		recorder.Trigger(resource, dropped, nowNS/1000-1)
	}
	if c.lateNS > 0 && nowNS-c.toldResendsNS >= triggerEveryNS {
		c.toldResendsNS = nowNS
		recorder.Trigger(resource, retransmission, c.lateNS/1000)
	}
	if c.slowNS > 0 && nowNS-c.toldSlowNS >= triggerEveryNS {
		c.toldSlowNS = nowNS
		recorder.Trigger(resource, slowHandshake, c.slowNS/1000)
	}
	c.lateNS, c.slowNS = 0, 0
}

func (c *connections) record(back int, server *Server, resource batch.ResourceID, recorder Recorder) {
	recorder.SetAt(back, c.openedSlot, float64(c.opened))
	recorder.SetAt(back, c.againSlot, float64(c.again))
	recorder.SetAt(back, c.dropsSlot, float64(server.drops))
	recorder.SetAt(back, c.synacksSlot, float64(c.synacks))
	recorder.SetAt(back, c.resentSlot, float64(c.resent))
	if server.queued > 0 {
		recorder.SetAt(back, c.queueSlot, float64(server.queued))
	}
	if c.handshake.Total() > 0 {
		recorder.Distribution(back, resource, catalogue.HandshakeUS, &c.handshake)
	}
	if c.delay.Total() > 0 {
		recorder.Distribution(back, resource, catalogue.RetransmitDelayUS, &c.delay)
	}
	if c.fastDelay.Total() > 0 {
		recorder.Distribution(back, resource, catalogue.FastRetransmitDelayUS, &c.fastDelay)
	}
}

func (c *connections) reset() {
	c.opened, c.again, c.synacks, c.resent = 0, 0, 0, 0
	c.handshake.Reset()
	c.delay.Reset()
	c.fastDelay.Reset()
}

// Dropped counts connection attempts that the kernel dropped since the last call; they are recorded in the next tick.
func (t *Tracker) Dropped(server *Server, attempts uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	server.drops += attempts
}
