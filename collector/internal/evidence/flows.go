package evidence

import (
	"bytes"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// flowKey is a TCP connection's four-tuple, the same for both directions.
type flowKey struct{ low, high dnswire.Endpoint }

// flowTally is what queries know about their connection; it outlives the flow's slot.
type flowTally struct {
	startSeen                    bool
	queries, answers, afterClose uint32
}

// side is one direction of a connection.
type side struct {
	firstSequence, next uint32
	sequenceKnown       bool
	finNs               int64 // 0: not seen
	stream              *dnswire.Stream
	held                []heldSegment // after a gap, in order of arrival
}

type dnsState uint8

const (
	dnsUnknown dnsState = iota
	dnsNot
	dnsCandidate // looks like a DNS client, on a port that is not known for DNS
	dnsYes
)

// flow is one TCP connection.
type flow struct {
	key               flowKey
	number            uint32 // as in tshark's tcp.stream
	used              bool
	state             dnsState
	clientSide        int8 // index into sides, which are low and high; -1: not known
	established, idle bool
	closed            bool
	resetNs           int64 // 0: not seen
	resetBy           int8
	firstNs, lastNs   int64
	lastDataNs        int64
	closedNs          int64
	longestIdleNs     int64
	portLastUsedNs    int64 // end of the previous connection on the same four-tuple; 0: none
	packets           uint32
	sides             [2]side
	tally             *flowTally
	server            *server
	client            *client
	older, newer      int32 // by last packet
}

// flowTable keeps the latest connections: a new one replaces the one that has been idle longest.
type flowTable struct {
	slots          []flow
	free           []int32
	byKey          map[flowKey]int32
	oldest, newest int32
	awake          int32 // the oldest that is not idle
	streams        []*dnswire.Stream
	heldBytes      int
}

const maxFlows = 1 << 15

func newFlowTable() *flowTable {
	return &flowTable{byKey: map[flowKey]int32{}, oldest: noSlot, newest: noSlot, awake: noSlot}
}

// flowKeyOf returns the key and the index of the sender's side.
func flowKeyOf(s *dnswire.Segment) (flowKey, int8) {
	order := bytes.Compare(s.Source.Address[:], s.Destination.Address[:])
	if order < 0 || order == 0 && s.Source.Port <= s.Destination.Port {
		return flowKey{s.Source, s.Destination}, 0
	}
	return flowKey{s.Destination, s.Source}, 1
}

// endpoint of a side.
func (f *flow) endpoint(side int8) dnswire.Endpoint {
	if side == 0 {
		return f.key.low
	}
	return f.key.high
}

// add allocates a slot, not yet linked into the order.
func (t *flowTable) add(key flowKey) int32 {
	var slot int32
	if last := len(t.free) - 1; last >= 0 {
		slot = t.free[last]
		t.free = t.free[:last]
	} else {
		slot = int32(len(t.slots))
		t.slots = append(t.slots, flow{})
	}
	t.slots[slot] = flow{key: key, used: true, clientSide: -1, older: noSlot, newer: noSlot}
	t.byKey[key] = slot
	t.link(slot)
	return slot
}

func (t *flowTable) remove(slot int32) {
	f := &t.slots[slot]
	t.release(f)
	t.unlink(slot)
	delete(t.byKey, f.key)
	*f = flow{}
	t.free = append(t.free, slot)
}

// touch moves a flow to the newest end.
func (t *flowTable) touch(slot int32) {
	if t.newest == slot && t.awake != noSlot {
		return
	}
	t.unlink(slot)
	t.link(slot)
}

func (t *flowTable) link(slot int32) {
	f := &t.slots[slot]
	f.older, f.newer = t.newest, noSlot
	if t.newest != noSlot {
		t.slots[t.newest].newer = slot
	} else {
		t.oldest = slot
	}
	t.newest = slot
	if t.awake == noSlot {
		t.awake = slot
	}
}

func (t *flowTable) unlink(slot int32) {
	f := &t.slots[slot]
	if t.awake == slot {
		t.awake = f.newer
	}
	if f.older != noSlot {
		t.slots[f.older].newer = f.newer
	} else {
		t.oldest = f.newer
	}
	if f.newer != noSlot {
		t.slots[f.newer].older = f.older
	} else {
		t.newest = f.older
	}
}

// stream returns a side's DNS reader, created for its first data.
func (t *flowTable) stream(s *side) *dnswire.Stream {
	if s.stream == nil {
		if last := len(t.streams) - 1; last >= 0 {
			s.stream = t.streams[last]
			t.streams = t.streams[:last]
			*s.stream = dnswire.Stream{}
		} else {
			s.stream = new(dnswire.Stream)
		}
	}
	return s.stream
}

// release frees the memory of a flow's data.
func (t *flowTable) release(f *flow) {
	for i := range f.sides {
		s := &f.sides[i]
		if s.stream != nil {
			t.streams = append(t.streams, s.stream)
			s.stream = nil
		}
		for _, segment := range s.held {
			t.heldBytes -= len(segment.payload)
		}
		s.held = nil
	}
}
