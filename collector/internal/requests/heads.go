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

// heads add to finished requests what headers of HTTP/2 say about them, which come through the same ring.
type heads struct {
	known   *http2head.Connections
	late    bpf.RequestsRequest // see statusCame
	endedNS uint64              // of the last finished request
}

// next returns the next finished request, nil if there is none. It is valid until the next call.
func (p *Programs) next() *bpf.RequestsRequest {
	for {
		record := p.ring.Next()
		if record == nil {
			return nil
		}
		if request := p.heads.take(record); request != nil {
			return request
		}
	}
}

// take takes a record of the ring. It returns a request if one has finished, or has got its status; otherwise nil.
func (h *heads) take(record []byte) *bpf.RequestsRequest {
	switch {
	case len(record) >= int(unsafe.Sizeof(bpf.RequestsRequest{})):
		request := (*bpf.RequestsRequest)(unsafe.Pointer(&record[0]))
		h.endedNS = request.EndedNs
		h.recall(request)
		if request.Connection != 0 && request.End == answered {
			owner := http2head.Owner{Server: request.Server, Generation: request.Generation}
			h.known.Await(request.Connection, request.Stream, owner)
		}
		return request
	case len(record) >= int(unsafe.Sizeof(bpf.RequestsBlock{})):
		return h.learn((*bpf.RequestsBlock)(unsafe.Pointer(&record[0])))
	}
	return nil
}

// learn takes a part of the headers of a connection.
func (h *heads) learn(block *bpf.RequestsBlock) *bpf.RequestsRequest {
	begins := http2head.Continues
	switch block.Begins {
	case connectionBegins:
		h.known.Begin(block.Connection)
		return nil
	case connectionEnds:
		h.known.End(block.Connection)
		return nil
	case blockHeaders:
		begins = http2head.Headers
	case blockContinuation:
		begins = http2head.Continuation
	}
	owner, arrived := h.known.Take(http2head.Part{
		Connection: block.Connection, Stream: block.Stream, Number: block.Number, Frame: block.Frame, Begins: begins, Flags: block.Flags,
		Answer: block.Answer != 0, Bytes: block.Bytes[:min(int(block.Length), len(block.Bytes))],
	})
	if !arrived {
		return nil
	}
	h.late = bpf.RequestsRequest{
		EndedNs: h.endedNS, Server: owner.Server, Generation: owner.Generation, End: statusCame,
		Connection: block.Connection, Stream: block.Stream,
	}
	h.recall(&h.late)
	return &h.late
}

// recall adds what the headers said to a request, as if it had begun like one of HTTP/1. Its status can be one of gRPC:
// see http2head.Status.
func (h *heads) recall(request *bpf.RequestsRequest) {
	if request.Connection == 0 {
		return
	}
	head, status := h.known.Head(request.Connection, request.Stream, request.Head[:0])
	request.HeadLength, request.Status = uint8(len(head)), uint8(status)
}
