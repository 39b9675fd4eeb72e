package dnswire

import (
	"encoding/binary"
	"strconv"
)

// HeaderLength is the size of a DNS header.
const HeaderLength = 12

// Response codes (RFC 1035, 4.1.1).
const (
	RcodeNoError  = 0
	RcodeServFail = 2
	RcodeNXDomain = 3
	RcodeRefused  = 5
)

// maxNameLength bounds a name on the wire (RFC 1035, 2.3.4).
const maxNameLength = 255

// Header holds the fields of a DNS header that the product uses.
type Header struct {
	ID        uint16
	Response  bool
	Truncated bool
	Opcode    uint8
	Rcode     uint8
	Questions uint16
}

// ParseHeader reads a DNS header. It returns false for what cannot be an ordinary query or its answer: too short, an
// opcode other than QUERY, more than one question, or a query that carries answers.
func ParseHeader(message []byte, header *Header) bool {
	if len(message) < HeaderLength {
		return false
	}
	flags := binary.BigEndian.Uint16(message[2:])
	header.ID = binary.BigEndian.Uint16(message)
	header.Response = flags&0x8000 != 0
	header.Opcode = uint8(flags>>11) & 0xf
	header.Truncated = flags&0x0200 != 0
	header.Rcode = uint8(flags & 0xf)
	header.Questions = binary.BigEndian.Uint16(message[4:])
	answers := binary.BigEndian.Uint16(message[6:])
	if header.Opcode != 0 || header.Questions > 1 {
		return false
	}
	return header.Response || (header.Questions == 1 && answers == 0)
}

// AppendQuestion appends "example.com. A" of the first question to text, in lower case with unusual bytes escaped as
// \DDD. It returns false, and appends nothing, if the question is cut off or malformed.
func AppendQuestion(text, message []byte) ([]byte, bool) {
	start := len(text)
	offset := HeaderLength
	if len(message) < offset || binary.BigEndian.Uint16(message[4:]) == 0 {
		return text, false
	}
	for {
		if offset >= len(message) {
			return text[:start], false
		}
		length := int(message[offset])
		offset++
		if length == 0 {
			break
		}
		// A first question has nothing before it to point back to, so compression is malformed here.
		if length > 63 || offset+length > len(message) || offset+length-HeaderLength > maxNameLength {
			return text[:start], false
		}
		for _, c := range message[offset : offset+length] {
			text = appendLabelByte(text, c)
		}
		text = append(text, '.')
		offset += length
	}
	if len(text) == start {
		text = append(text, '.')
	}
	if offset+4 > len(message) {
		return text[:start], false
	}
	text = append(text, ' ')
	return appendType(text, binary.BigEndian.Uint16(message[offset:])), true
}

func appendLabelByte(text []byte, c byte) []byte {
	switch {
	case c >= 'A' && c <= 'Z':
		return append(text, c+('a'-'A'))
	case c == '.' || c == '\\':
		return append(text, '\\', c)
	case c > ' ' && c < 0x7f:
		return append(text, c)
	}
	return append(text, '\\', '0'+c/100, '0'+c/10%10, '0'+c%10)
}

func appendType(text []byte, queryType uint16) []byte {
	switch queryType {
	case 1:
		return append(text, "A"...)
	case 2:
		return append(text, "NS"...)
	case 5:
		return append(text, "CNAME"...)
	case 6:
		return append(text, "SOA"...)
	case 12:
		return append(text, "PTR"...)
	case 15:
		return append(text, "MX"...)
	case 16:
		return append(text, "TXT"...)
	case 28:
		return append(text, "AAAA"...)
	case 33:
		return append(text, "SRV"...)
	case 65:
		return append(text, "HTTPS"...)
	case 255:
		return append(text, "ANY"...)
	}
	// RFC 3597 writes unknown types this way.
	return strconv.AppendUint(append(text, "TYPE"...), uint64(queryType), 10)
}
