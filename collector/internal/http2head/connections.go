// Package http2head follows the header compression of HTTP/2 connections (HPACK, RFC 7541) to learn the method and path
// of requests and the status of answers, which gRPC sends in the trailers. Other fields are skipped: none of their values
// is kept.
package http2head

import "math"

const (
	// mostConnections is how many connections are followed, the last ones used.
	mostConnections = 128
	// streams is how many streams of a connection are remembered: as many as the programs time.
	streams = 128

	padded   = 0x08 // flags of HEADERS (RFC 9113, 6.2)
	priority = 0x20
)

// Beginning is what a Part begins.
type Beginning uint8

// A part continues the frame of the part before, or begins a frame. A block of headers begins with a frame of HEADERS.
const (
	Continues Beginning = iota
	Headers
	Continuation
)

// Part is a part of a frame with headers, in the order of the connection.
type Part struct {
	Connection uint64
	Stream     uint32
	Number     uint32 // of the part on its connection and in its direction, from 1
	Frame      uint32 // bytes of the whole frame, if it begins
	Begins     Beginning
	Flags      uint8
	Answer     bool // from the server
	Bytes      []byte
}

// Connections are the connections that are followed. Once warm, it does not allocate.
type Connections struct {
	known map[uint64]*connection
	free  []*connection
	turn  uint64
}

// NewConnections returns an empty Connections.
func NewConnections() *Connections {
	return &Connections{known: make(map[uint64]*connection, mostConnections)}
}

type connection struct {
	used    uint64
	in, out direction
	streams [streams]stream
}

// direction is one direction of a connection.
type direction struct {
	decoder
	parts  uint32
	stream *stream // that the current block belongs to; nil: of no interest
	number uint32  // of that stream: a younger one can get its place during the block
	left   uint32  // bytes of the frame that are part of the block and still to come
	prefix uint32  // bytes before them
	pads   bool    // the first of these is how many bytes of padding follow the block
	found  func(*field)
}

// stream is what is known of a request and its answer.
type stream struct {
	id           uint32
	methodLength uint8
	method       [8]byte // no known one is longer
	class        uint8   // of the HTTP status
	grpc         bool    // the answer is one of gRPC
	code         uint8   // 1 plus its code; 0: not known yet
	awaited      bool    // the request was answered, and its owner waits for the status
	owner        Owner
	path         field
}

// Begin begins to follow a connection from its first byte.
func (c *Connections) Begin(id uint64) {
	c.End(id)
	if len(c.known) >= mostConnections {
		c.End(c.oldest())
	}
	var one *connection
	if last := len(c.free) - 1; last >= 0 {
		one, c.free = c.free[last], c.free[:last]
	} else {
		one = new(connection)
		one.in.found, one.in.wanted = one.in.learnRequest, 1<<method|1<<path
		one.out.found, one.out.wanted = one.out.learnAnswer, 1<<status|1<<contentType|1<<grpcStatus
		one.clear()
	}
	c.turn++
	one.used = c.turn
	c.known[id] = one
}

// End forgets a connection.
func (c *Connections) End(id uint64) {
	if one := c.known[id]; one != nil {
		delete(c.known, id)
		one.clear()
		c.free = append(c.free, one)
	}
}

// clear forgets everything.
func (c *connection) clear() {
	c.in.start()
	c.out.start()
	clear(c.streams[:])
}

func (c *Connections) oldest() (oldest uint64) {
	used := uint64(math.MaxUint64)
	for id, one := range c.known {
		if one.used < used {
			oldest, used = id, one.used
		}
	}
	return oldest
}

// Take takes a part of a frame. It returns whose answer got its status by it, if that is awaited; Head has the status.
func (c *Connections) Take(p Part) (owner Owner, arrived bool) {
	one := c.known[p.Connection]
	if one == nil {
		return Owner{}, false
	}
	c.turn++
	one.used = c.turn
	d := &one.in
	if p.Answer {
		d = &one.out
	}
	if p.Number != d.parts+1 {
		d.broken = true // parts were lost
	}
	d.parts = p.Number
	d.part(one, &p)
	if !p.Answer {
		return Owner{}, false
	}
	return d.stream.arrived()
}

// Head writes how a request of HTTP/1 with this method and path would begin, and returns that and the status of its
// answer. Either is empty if it is not known.
func (c *Connections) Head(id uint64, number uint32, into []byte) (head []byte, status Status) {
	one := c.known[id]
	if one == nil {
		return into, 0
	}
	s := &one.streams[number>>1%streams]
	if s.id != number {
		return into, 0
	}
	if s.methodLength == 0 || s.path.length == 0 {
		return into, s.status()
	}
	room := func(text ...byte) bool {
		n := min(len(text), cap(into)-len(into))
		into = append(into, text[:n]...)
		return n == len(text)
	}
	if room(s.method[:s.methodLength]...) && room(' ') && room(s.path.text()...) && !s.path.cut {
		room(' ')
	}
	return into, s.status()
}

// at returns the place of a stream; nil if a later one has it.
func (c *connection) at(id uint32) *stream {
	s := &c.streams[id>>1%streams]
	if s.id > id {
		return nil
	}
	if s.id < id {
		s.id, s.methodLength, s.path.length = id, 0, 0
		s.class, s.grpc, s.code, s.awaited = 0, false, 0, false
	}
	return s
}

func (d *direction) start() {
	d.reset()
	d.parts, d.stream, d.left, d.prefix, d.pads = 0, nil, 0, 0, false
}

// part takes a part of a frame.
func (d *direction) part(c *connection, p *Part) {
	if p.Begins != Continues {
		d.beginFrame(c, p)
	}
	bytes := p.Bytes
	for d.prefix > 0 && len(bytes) > 0 {
		if d.pads {
			d.pads = false
			d.left -= min(d.left, uint32(bytes[0]))
		}
		d.prefix--
		bytes = bytes[1:]
	}
	n := min(uint32(len(bytes)), d.left)
	d.left -= n
	d.decode(bytes[:n], d.found)
}

func (d *direction) beginFrame(c *connection, p *Part) {
	d.left, d.prefix, d.pads = p.Frame, 0, false
	if p.Begins == Continuation {
		return
	}
	d.broken = d.broken || d.step != atField // the block before has not ended
	d.stream, d.number = c.at(p.Stream), p.Stream
	d.pads = p.Flags&padded != 0
	if d.pads {
		d.prefix++
	}
	if p.Flags&priority != 0 {
		d.prefix += 5
	}
	d.left -= min(d.left, d.prefix)
}

// isOver reports whether nobody asks for the stream of the current block any more.
func (d *direction) isOver() bool { return d.stream == nil || d.stream.id != d.number }

// learnRequest keeps a field of the current block of a client.
func (d *direction) learnRequest(f *field) {
	switch {
	case d.isOver() || f.length == 0:
	case f.name == method:
		d.stream.methodLength = uint8(copy(d.stream.method[:], f.text()))
	case f.name == path:
		d.stream.path = *f
	}
}

// learnAnswer keeps a field of the current block of the server: the headers of an answer, or its trailers.
func (d *direction) learnAnswer(f *field) {
	switch {
	case d.isOver() || f.length == 0:
	case f.name == status && f.value[0] >= '1' && f.value[0] <= '5':
		d.stream.class = f.value[0] - '0'
	case f.name == contentType:
		d.stream.grpc = isGRPC(f.text())
	case f.name == grpcStatus:
		d.stream.code = 1 + codeOf(f.text())
	}
}
