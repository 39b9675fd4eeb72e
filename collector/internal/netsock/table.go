// Package netsock reads the kernel's socket tables, /proc/PID/net/{udp,udp6,tcp,tcp6}. Parsing does not allocate.
// Format: Documentation/networking/proc_net_tcp.rst.
package netsock

import (
	"bytes"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
)

// TCPListen is the state of a listening TCP socket.
const TCPListen = 0x0a

// Socket is one row.
type Socket struct {
	Local, Remote dnswire.Endpoint
	State         uint8
	ReceiveQueue  uint64 // bytes; for a listening TCP socket: connections not accepted yet
	Inode         uint64
	Drops         uint64 // UDP only
}

// Unconnected distinguishes a server's UDP socket from one with a single peer.
func (s *Socket) Unconnected() bool { return s.Remote.Port == 0 }

// NextRow splits the first line off text.
func NextRow(text []byte) (row, rest []byte) {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return text[:end], text[end+1:]
	}
	return text, nil
}

// Parse reads one row; it returns false for the heading and for a truncated row.
func Parse(row []byte, socket *Socket) bool {
	fields := fieldReader{row}
	if slot := fields.next(); len(slot) < 2 || slot[len(slot)-1] != ':' {
		return false
	}
	if !parseEndpoint(fields.next(), &socket.Local) || !parseEndpoint(fields.next(), &socket.Remote) {
		return false
	}
	state, ok := hexadecimal(fields.next())
	if !ok {
		return false
	}
	socket.State = uint8(state)
	queues := fields.next() // TX:RX
	colon := bytes.IndexByte(queues, ':')
	if colon < 0 {
		return false
	}
	if socket.ReceiveQueue, ok = hexadecimal(queues[colon+1:]); !ok {
		return false
	}
	for range 4 { // timer, retransmits, uid, timeout
		fields.next()
	}
	if socket.Inode, ok = decimal(fields.next()); !ok {
		return false
	}
	fields.next() // references
	fields.next() // address of the socket
	socket.Drops, _ = decimal(fields.next())
	return true
}

type fieldReader struct{ rest []byte }

func (f *fieldReader) next() []byte {
	start := 0
	for start < len(f.rest) && f.rest[start] == ' ' {
		start++
	}
	end := start
	for end < len(f.rest) && f.rest[end] != ' ' {
		end++
	}
	field := f.rest[start:end]
	f.rest = f.rest[end:]
	return field
}

// parseEndpoint reads "0100007F:0035": the address as 32-bit words in host byte order, which is little-endian on every
// architecture that the collector is built for, and the port as a number.
func parseEndpoint(text []byte, endpoint *dnswire.Endpoint) bool {
	colon := bytes.IndexByte(text, ':')
	if colon != 8 && colon != 32 {
		return false
	}
	var raw [16]byte
	for i := 0; i < colon/2; i++ {
		high, low := digit(text[2*i]), digit(text[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		raw[i&^3|3-i&3] = high<<4 | low
	}
	if colon == 8 {
		endpoint.Address = dnswire.Address{10: 0xff, 11: 0xff}
		copy(endpoint.Address[12:], raw[:4])
	} else {
		endpoint.Address = raw
	}
	port, ok := hexadecimal(text[colon+1:])
	endpoint.Port = uint16(port)
	return ok && port <= 0xffff
}

func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

func hexadecimal(text []byte) (value uint64, ok bool) {
	for _, c := range text {
		d := digit(c)
		if d > 15 || value>>60 != 0 {
			return 0, false
		}
		value = value<<4 | uint64(d)
	}
	return value, len(text) > 0
}

func decimal(text []byte) (value uint64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' || value > (^uint64(0)-9)/10 {
			return 0, false
		}
		value = value*10 + uint64(c-'0')
	}
	return value, len(text) > 0
}
