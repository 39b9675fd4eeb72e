package dnswire

import "encoding/binary"

// streamBuffer holds the length prefix, the header and the longest question of a message; nothing after the question is
// needed.
const streamBuffer = 2 + HeaderLength + maxNameLength + 5

// Stream follows one direction of a DNS-over-TCP connection and finds its messages (RFC 1035, 4.2.2). It keeps the
// start of one message; the rest is skipped by arithmetic on sequence numbers, so that a capture with truncated
// segments still finds every message boundary.
type Stream struct {
	next     uint32
	synced   bool
	position int // bytes of the current message passed so far, including the length prefix
	stored   int // bytes of it in buffer, always its first ones
	buffer   [streamBuffer]byte
}

// Reset discards all state, for a new connection whose first byte has the given sequence number.
func (s *Stream) Reset(sequence uint32) {
	s.next, s.synced, s.position, s.stored = sequence, true, 0, 0
}

// Add handles a segment's payload (the captured part of its length bytes) and calls message with the start of each
// message that ends in it. Retransmitted bytes are ignored; after a gap the stream waits for a segment that begins with
// a plausible message.
func (s *Stream) Add(sequence uint32, payload []byte, length int, message func(start []byte)) {
	if length <= 0 {
		return
	}
	if s.synced {
		ahead := int32(sequence - s.next)
		if ahead < 0 {
			repeated := int(-ahead)
			if repeated >= length {
				return
			}
			payload = payload[min(repeated, len(payload)):]
			length -= repeated
			sequence = s.next
		} else if ahead > 0 {
			s.synced = false
		}
	}
	if !s.synced {
		if !plausibleStart(payload) {
			return
		}
		s.Reset(sequence)
	}
	s.next = sequence + uint32(length)
	for length > 0 {
		taken := s.take(payload, length)
		if taken == 0 {
			s.synced = false // a length prefix was in the part that was not captured
			return
		}
		payload = payload[min(taken, len(payload)):]
		length -= taken
		if s.stored >= 2 && s.position == 2+s.messageLength() {
			if s.stored >= 2+min(HeaderLength, s.messageLength()) {
				message(s.buffer[2:s.stored])
			}
			s.position, s.stored = 0, 0
		}
	}
}

func (s *Stream) messageLength() int { return int(binary.BigEndian.Uint16(s.buffer[:])) }

// take consumes bytes of the current message, at most up to its end, and returns how many.
func (s *Stream) take(payload []byte, length int) int {
	if s.position < 2 {
		// The prefix itself, byte by byte: it can be split between segments.
		if len(payload) == 0 {
			return 0
		}
		s.buffer[s.position] = payload[0]
		s.position++
		s.stored++
		return 1
	}
	taken := min(length, 2+s.messageLength()-s.position)
	if s.stored == s.position {
		s.stored += copy(s.buffer[s.stored:], payload[:min(taken, len(payload))])
	}
	s.position += taken
	return taken
}

func plausibleStart(payload []byte) bool {
	var header Header
	return len(payload) >= 2+HeaderLength && binary.BigEndian.Uint16(payload) >= HeaderLength &&
		ParseHeader(payload[2:], &header)
}
