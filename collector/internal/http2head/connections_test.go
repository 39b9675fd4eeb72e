package http2head

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// talk is a connection between a client and a server that encode like real ones, and what is known of it.
type talk struct {
	known    *Connections
	in, out  bytes.Buffer
	encoders [2]*hpack.Encoder
	parts    [2]uint32
	size     int     // bytes of a part; 0: all
	during   func()  // called once, after the next part
	arrived  []Owner // of answers that got their status
}

const connectionID = 7

func newTalk(size int) *talk {
	k := &talk{known: NewConnections(), size: size}
	k.encoders = [2]*hpack.Encoder{hpack.NewEncoder(&k.in), hpack.NewEncoder(&k.out)}
	k.known.Begin(connectionID)
	return k
}

// send sends a block of headers, "name=value" each, in parts.
func (k *talk) send(answer bool, stream uint32, fields ...string) {
	side, buffer := 0, &k.in
	if answer {
		side, buffer = 1, &k.out
	}
	buffer.Reset()
	for _, text := range fields {
		name, value, _ := strings.Cut(text, "=")
		if err := k.encoders[side].WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: name == "secret"}); err != nil {
			panic(err)
		}
	}
	k.frame(answer, stream, 0, buffer.Bytes())
}

func (k *talk) frame(answer bool, stream uint32, flags uint8, block []byte) {
	side := 0
	if answer {
		side = 1
	}
	p := Part{Connection: connectionID, Stream: stream, Frame: uint32(len(block)), Begins: Headers, Flags: flags, Answer: answer}
	for first := true; first || len(block) > 0; first = false {
		n := len(block)
		if k.size > 0 {
			n = min(n, k.size)
		}
		k.parts[side]++
		p.Number, p.Bytes = k.parts[side], block[:n]
		if owner, arrived := k.known.Take(p); arrived {
			k.arrived = append(k.arrived, owner)
		}
		block, p.Begins = block[n:], Continues
		if during := k.during; during != nil {
			k.during = nil
			during()
		}
	}
}

func (k *talk) expect(t *testing.T, stream uint32, head string, status Status) {
	t.Helper()
	if got, its := k.known.Head(connectionID, stream, make([]byte, 0, 64)); string(got) != head || its != status {
		t.Errorf("stream %d: %q with status %d, want %q with %d", stream, got, its, head, status)
	}
}

func TestMethodPathAndStatusAreLearnt(t *testing.T) {
	for _, size := range []int{0, 1, 2, 7, 100} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			k := newTalk(size)
			long := "/" + strings.Repeat("path/", 30)
			for round := range uint32(3) {
				id := 1 + 20*round
				k.send(false, id, ":method=GET", ":scheme=http", ":path=/users/1", "authorization="+strings.Repeat("secret", 40))
				k.send(false, id+2, ":method=PUT", ":path=/", "secret=value", fmt.Sprint("round=", round))
				k.send(false, id+4, ":path=/a.Service/Method?x=~", ":method=POST", "te=trailers")
				k.send(false, id+6, ":method=GET", ":path="+long)
				k.send(true, id+2, ":status=503", "content-type=text/plain", fmt.Sprint("date=", round))
				k.send(true, id, ":status=200", "server=x")
				k.send(true, id+4, ":status=404")
				k.send(true, id, "grpc-status=13")
				k.expect(t, id, "GET /users/1 ", 2)
				k.expect(t, id+2, "PUT / ", 5)
				k.expect(t, id+4, "POST /a.Service/Method ", 4)
				k.expect(t, id+6, ("GET " + long)[:64], 0)
				k.expect(t, id+8, "", 0)
			}
		})
	}
}

func TestEvictedEntriesDoNotShiftOthers(t *testing.T) {
	k := newTalk(0)
	for i := range uint32(500) {
		id := 2*i + 1
		k.send(false, id, ":method=PATCH", fmt.Sprint(":path=/item/", i%7), fmt.Sprint("trace=", rand.Uint64()), "user-agent="+strings.Repeat("u", int(i%300)))
		k.send(true, id, fmt.Sprint(":status=", 502-100*(i%2)), fmt.Sprint("trace=", rand.Uint64()))
		k.expect(t, id, fmt.Sprint("PATCH /item/", i%7, " "), Status(5-i%2))
	}
	k.encoders[0].SetMaxDynamicTableSize(300)
	k.encoders[1].SetMaxDynamicTableSize(0)
	for i := range uint32(50) {
		id := 2*i + 2001
		k.send(false, id, ":method=PATCH", ":path=/small", fmt.Sprint("trace=", rand.Uint64()), "large="+strings.Repeat("x", 400))
		k.send(true, id, ":status=503")
		k.expect(t, id, "PATCH /small ", 5)
	}
}

func TestPaddingAndPriorityAreLeftOut(t *testing.T) {
	k := newTalk(3)
	block := []byte{0x82, 0x84}
	k.frame(false, 1, padded|priority, append(append([]byte{4, 0, 0, 0, 0, 9}, block...), 0xff, 0xff, 0xff, 0xff))
	k.expect(t, 1, "GET / ", 0)
	k.send(false, 3, ":method=GET", ":path=/")
	k.expect(t, 3, "GET / ", 0)
}

// TestNothingIsGuessed: after a part was lost, an entry that was never added, or on an unknown connection.
func TestNothingIsGuessed(t *testing.T) {
	k := newTalk(0)
	k.parts[0]++
	k.send(false, 1, ":method=GET", ":path=/lost")
	k.expect(t, 1, "", 0)
	k.send(true, 1, ":status=200")
	k.expect(t, 1, "", 2)

	k = newTalk(0)
	k.frame(false, 1, 0, []byte{0x82, 0xbe})
	k.send(false, 3, ":method=GET", ":path=/x")
	k.expect(t, 3, "", 0)
	k.known.End(connectionID)
	k.send(true, 3, ":status=200")
	k.expect(t, 3, "", 0)
}

func TestConnectionsAreBounded(t *testing.T) {
	known := NewConnections()
	for id := range uint64(2 * mostConnections) {
		known.Begin(id)
		_, _ = known.Take(Part{Connection: 0, Number: uint32(id) + 1}) // the first one stays in use
	}
	if len(known.known) != mostConnections || known.known[0] == nil {
		t.Errorf("%d connections are known, the first one: %v", len(known.known), known.known[0] != nil)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	k := newTalk(0)
	into := make([]byte, 0, 64)
	part := Part{Connection: connectionID, Stream: 1, Frame: 12, Begins: Headers, Bytes: []byte("\x82\x44\x89\x60\x54\x8f\xc5\x31\x7f\x00\x00\x00")}
	k.known.Begin(connectionID)
	k.known.End(connectionID)
	if allocated := testing.AllocsPerRun(100, func() {
		k.known.Begin(connectionID)
		part.Number = 1
		_, _ = k.known.Take(part)
		_, _ = k.known.Head(connectionID, 1, into)
		k.known.End(connectionID)
	}); allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

func FuzzTake(f *testing.F) {
	k := newTalk(0)
	k.send(false, 1, ":method=GET", ":path=/users/1", "cookie=abc")
	f.Add(k.in.Bytes(), uint8(3), uint8(padded|priority))
	f.Add([]byte{0x3f, 0xff, 0xff, 0xff, 0xff, 0xff}, uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, block []byte, size, flags uint8) {
		whole, cut := newTalk(0), newTalk(int(size))
		for id := uint32(1); id < 7; id += 2 {
			for _, answer := range []bool{false, true} {
				whole.frame(answer, id, flags, block)
				cut.frame(answer, id, flags, block)
			}
			head, status := whole.known.Head(connectionID, id, make([]byte, 0, 64))
			cut.expect(t, id, string(head), status)
		}
	})
}
