package dnscapture

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// connections follows DNS over TCP: a set-associative table that evicts the least recently used connection.
type connections struct {
	seed    maphash.Seed
	entries [connectionSets][connectionWays]connection
	clock   uint64

	// What the messages found by a stream belong to.
	tracker    *Tracker
	capture    uint8
	timeNS     int64
	interface_ int32
	emit       func(start []byte)
}

const (
	connectionSets = 64
	connectionWays = 4
)

type connection struct {
	client, server   dnswire.Endpoint
	capture          uint8
	used             uint64
	queries, answers dnswire.Stream
}

func newConnections() *connections {
	c := &connections{seed: maphash.MakeSeed()}
	c.emit = func(start []byte) { c.tracker.message(c.capture, c.timeNS, c.interface_, start) }
	return c
}

func (c *connections) find(capture uint8, client, server *dnswire.Endpoint) *connection {
	var key [37]byte
	copy(key[:], client.Address[:])
	copy(key[16:], server.Address[:])
	binary.LittleEndian.PutUint16(key[32:], client.Port)
	binary.LittleEndian.PutUint16(key[34:], server.Port)
	key[36] = capture
	set := &c.entries[maphash.Bytes(c.seed, key[:])%connectionSets]
	c.clock++
	oldest := &set[0]
	for i := range set {
		entry := &set[i]
		if entry.used != 0 && entry.client == *client && entry.server == *server && entry.capture == capture {
			entry.used = c.clock
			return entry
		}
		if entry.used < oldest.used {
			oldest = entry
		}
	}
	*oldest = connection{client: *client, server: *server, capture: capture, used: c.clock}
	return oldest
}

// tcpSegment handles the current segment.
func (t *Tracker) tcpSegment(capture uint8, packet *Packet) {
	s := &t.segment
	opens, ends := s.TCPFlags&dnswire.TCPSyn != 0, s.TCPFlags&dnswire.TCPRst != 0
	if s.PayloadLength == 0 && !opens && !ends {
		return
	}
	client, server, toServer := &s.Source, &s.Destination, true
	number, known := t.index[ServerKey{s.Source, capture}]
	if known && number != foreign {
		client, server, toServer = server, client, false
	} else if _, known := t.server(capture, server); !known {
		return
	}
	c := t.tcp.find(capture, client, server)
	stream := &c.answers
	if toServer {
		stream = &c.queries
	}
	switch {
	case ends:
		c.used = 0
		if !toServer {
			t.reset(number, client)
		}
	case opens:
		stream.Reset(s.TCPSequence + 1)
	default:
		t.tcp.tracker, t.tcp.capture, t.tcp.timeNS, t.tcp.interface_ = t, capture, packet.TimeNS, packet.Interface
		stream.Add(s.TCPSequence, s.Payload, s.PayloadLength, t.tcp.emit)
	}
}

// resetScan is how many of the newest unanswered queries are searched for those of a reset connection.
const resetScan = 1024

// reset forgets the unanswered queries of a connection that the server reset: they were never read, so no answer is
// late. A dnsmasq closes a connection after a hundred queries, and those in flight at that moment are sent again.
func (t *Tracker) reset(server uint16, client *dnswire.Endpoint) {
	for i, left := t.inflight.newest, resetScan; i != none && left > 0; left-- {
		entry := &t.inflight.entries[i]
		i = entry.older
		if entry.server == server && entry.client == *client && entry.protocol == dnswire.ProtocolTCP {
			t.stats.Reset++
			t.servers[server].unanswered--
			t.inflight.remove(entry)
		}
	}
}
