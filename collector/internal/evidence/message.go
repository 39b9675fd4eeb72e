package evidence

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// message is what matching needs from a DNS message.
type message struct {
	id        uint16
	response  bool
	truncated bool
	opcode    uint8
	rcode     uint8
	question  []byte // name, type and class as on the wire; nil if cut off, malformed or absent
}

const maxNameLength = 255

// parseMessage reads the needed fields from a message, or from its captured start. It returns false without a complete
// header.
func parseMessage(data []byte, m *message) bool {
	if len(data) < dnswire.HeaderLength {
		return false
	}
	m.id = binary.BigEndian.Uint16(data)
	m.response = data[2]&0x80 != 0
	m.opcode = data[2] >> 3 & 0xf
	m.truncated = data[2]&2 != 0
	m.rcode = data[3] & 0xf
	m.question = nil
	if binary.BigEndian.Uint16(data[4:]) == 0 {
		return true
	}
	offset := dnswire.HeaderLength
	for offset < len(data) {
		length := int(data[offset])
		offset++
		if length == 0 {
			if offset+4 <= len(data) {
				m.question = data[dnswire.HeaderLength : offset+4]
			}
			return true
		}
		if length > 63 || offset+length-dnswire.HeaderLength > maxNameLength {
			return true
		}
		offset += length
	}
	return true
}

var seed = maphash.MakeSeed()

// hashQuestion is the same for questions that differ only in case; 0 means none.
func hashQuestion(question []byte) uint64 {
	if len(question) == 0 {
		return 0
	}
	var folded [maxNameLength + 5]byte
	n := copy(folded[:], question)
	for i, c := range folded[:n-4] {
		if c >= 'A' && c <= 'Z' {
			folded[i] = c + 'a' - 'A'
		}
	}
	return maphash.Bytes(seed, folded[:n]) | 1
}

// questionText is "example.com. A" of a question that parseMessage accepted.
func questionText(question []byte) string {
	var whole [dnswire.HeaderLength + maxNameLength + 5]byte
	whole[5] = 1
	n := copy(whole[dnswire.HeaderLength:], question)
	var buffer [1200]byte
	text, _ := dnswire.AppendQuestion(buffer[:0], whole[:dnswire.HeaderLength+n])
	return string(text)
}

// certainlyQuery recognizes a query on a port that is not known for DNS: nothing in it can be unusual.
func certainlyQuery(data []byte, m *message) bool {
	if m.response || m.question == nil || !ordinaryQuestion(m.question) {
		return false
	}
	flags := binary.BigEndian.Uint16(data[2:])
	additional := binary.BigEndian.Uint16(data[10:])
	// Only RD, AD and CD can be set; one question, no answer, no authority, at most EDNS and a signature.
	if flags&^0x0130 != 0 || binary.BigEndian.Uint16(data[4:]) != 1 || binary.BigEndian.Uint32(data[6:]) != 0 || additional > 2 {
		return false
	}
	end := dnswire.HeaderLength + len(m.question)
	if additional == 0 {
		return len(data) == end
	}
	return len(data) >= end+11
}

func ordinaryQuestion(question []byte) bool {
	kind := binary.BigEndian.Uint16(question[len(question)-4:])
	class := binary.BigEndian.Uint16(question[len(question)-2:])
	return kind != 0 && (class == 1 || class == 3 || class == 4 || class == 254 || class == 255)
}
