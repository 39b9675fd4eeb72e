package requests

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/net/http2/hpack"

	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/http2head"
)

func recordOf[T any](value *T) []byte {
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(value)), unsafe.Sizeof(*value)))
}

// TestRecordsOfTheRing: the headers of a call and its answer, the finished request between them, and then its status.
func TestRecordsOfTheRing(t *testing.T) {
	const connection = 77
	h := heads{known: http2head.NewConnections()}
	parts := [2]uint32{}
	var texts [2]bytes.Buffer
	encoders := [2]*hpack.Encoder{hpack.NewEncoder(&texts[0]), hpack.NewEncoder(&texts[1])}
	block := func(answer uint8, fields ...string) *bpf.RequestsRequest {
		texts[answer].Reset()
		for i := 0; i < len(fields); i += 2 {
			if err := encoders[answer].WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
				t.Fatal(err)
			}
		}
		parts[answer]++
		b := bpf.RequestsBlock{Connection: connection, Stream: 1, Number: parts[answer], Begins: blockHeaders, Answer: answer}
		b.Length = uint8(copy(b.Bytes[:], texts[answer].Bytes()))
		b.Frame = uint32(b.Length)
		return h.take(recordOf(&b))
	}
	finished := func(end uint8) *bpf.RequestsRequest {
		request := bpf.RequestsRequest{Connection: connection, Stream: 1, Server: 3, Generation: 8, EndedNs: 9_000, End: end}
		return h.take(recordOf(&request))
	}
	for _, c := range []struct {
		name string
		end  uint8
		late bool
	}{{"answered", answered, true}, {"given up", abandoned, false}} {
		t.Run(c.name, func(t *testing.T) {
			h.take(recordOf(&bpf.RequestsBlock{Connection: connection, Begins: connectionBegins}))
			parts = [2]uint32{}
			for i := range encoders {
				encoders[i] = hpack.NewEncoder(&texts[i])
			}
			if block(0, ":method", "POST", ":path", "/shop.Orders/Place") != nil || block(1, ":status", "200", "content-type", "application/grpc") != nil {
				t.Error("headers are no request")
			}
			if r := finished(c.end); r == nil || r.Status != 0 || string(r.Head[:r.HeadLength]) != "POST /shop.Orders/Place " {
				t.Errorf("finished: %+v", r)
			}
			r := block(1, "grpc-status", "13")
			if !c.late {
				if r != nil {
					t.Errorf("a status came: %+v", r)
				}
				return
			}
			if r == nil || r.End != statusCame || r.Status != uint8(http2head.GRPC+13) || r.Server != 3 || r.Generation != 8 || r.EndedNs != 9_000 {
				t.Errorf("status: %+v", r)
			}
			if r != nil && string(r.Head[:r.HeadLength]) != "POST /shop.Orders/Place " {
				t.Errorf("its kind is %q", r.Head[:r.HeadLength])
			}
		})
	}
}
