package requests

import (
	"unsafe"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/http2head"
)

// What a bpf.RequestsBlock begins (blocks.h).
const (
	blockHeaders      = 1
	blockContinuation = 9
	connectionBegins  = 32
	connectionEnds    = 33
)

// next returns the next finished request, nil if there is none. It is valid until the next call. Headers of HTTP/2 that
// precede it in the ring are taken.
func (p *Programs) next() *bpf.RequestsRequest {
	for {
		record := p.ring.Next()
		switch {
		case len(record) >= int(unsafe.Sizeof(bpf.RequestsRequest{})):
			request := (*bpf.RequestsRequest)(unsafe.Pointer(&record[0]))
			recall(p.heads, request)
			return request
		case len(record) >= int(unsafe.Sizeof(bpf.RequestsBlock{})):
			learn(p.heads, (*bpf.RequestsBlock)(unsafe.Pointer(&record[0])))
		default:
			return nil
		}
	}
}

// learn takes a part of the headers of a connection.
func learn(heads *http2head.Connections, block *bpf.RequestsBlock) {
	begins := http2head.Continues
	switch block.Begins {
	case connectionBegins:
		heads.Begin(block.Connection)
		return
	case connectionEnds:
		heads.End(block.Connection)
		return
	case blockHeaders:
		begins = http2head.Headers
	case blockContinuation:
		begins = http2head.Continuation
	}
	heads.Take(http2head.Part{
		Connection: block.Connection, Stream: block.Stream, Number: block.Number, Frame: block.Frame, Begins: begins, Flags: block.Flags,
		Answer: block.Answer != 0, Bytes: block.Bytes[:min(int(block.Length), len(block.Bytes))],
	})
}

// recall adds what the headers said to a finished request, as if it had begun like one of HTTP/1.
func recall(heads *http2head.Connections, request *bpf.RequestsRequest) {
	if request.Connection == 0 {
		return
	}
	head, class := heads.Head(request.Connection, request.Stream, request.Head[:0])
	request.HeadLength, request.Status = uint8(len(head)), class
}
