package labgrpc

import "encoding/binary"

const (
	preface     = 24 // bytes with which a client begins (RFC 9113, 3.4)
	typeData    = 0
	typeHeaders = 1
	endStream   = 0x1
)

// frames finds the frames of HTTP/2 in the bytes of one direction (RFC 9113, 4.1).
type frames struct {
	head  [9]byte
	have  int      // bytes of it
	left  int      // bytes of the payload that are still to come
	began [15]byte // how the payload begins
	kept  int      // bytes of that
}

func (f *frames) kind() byte     { return f.head[3] }
func (f *frames) ends() bool     { return f.head[4]&endStream != 0 }
func (f *frames) stream() uint32 { return binary.BigEndian.Uint32(f.head[5:]) & 0x7fffffff }

// wants is how many bytes are missing from the current header or payload.
func (f *frames) wants() int {
	if f.have < len(f.head) {
		return len(f.head) - f.have
	}
	return f.left
}

// take takes bytes of one header or payload, and returns how many. began: a header is complete; ended: a frame is.
func (f *frames) take(data []byte) (n int, began, ended bool) {
	n = min(len(data), f.wants())
	if f.have < len(f.head) {
		f.have += copy(f.head[f.have:], data[:n])
		if f.have < len(f.head) {
			return n, false, false
		}
		f.left, f.kept = int(f.head[0])<<16|int(f.head[1])<<8|int(f.head[2]), 0
		began = true
	} else {
		f.kept += copy(f.began[f.kept:], data[:n])
		f.left -= n
	}
	if f.left == 0 {
		f.have, ended = 0, true
	}
	return n, began, ended
}
