package requests

import (
	"bytes"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/bpf"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/http2head"
	"github.com/jitterscope/jitterscope/collector/internal/requestkind"
)

// MaxKinds is how many kinds of requests are distinguished per server; further ones count as others.
const MaxKinds = 32

// Coarse is how many buckets of batch.Histogram are combined into one here: it lets the latencies of all kinds fit into
// an event, each within 6 %.
const Coarse = 3

// Kind is the answered requests of one kind. Text is empty for those beyond the first MaxKinds. Statuses is how many of
// the answers had an HTTP status that was read: if it is 0, its errors were not measured. Codes are those of gRPC. They
// come with the end of an answer, so the request itself can be in an earlier Kinds.
type Kind struct {
	text                                        [requestkind.Most]byte
	length                                      uint8
	Count, Slow, Statuses, ClientErrs, ServErrs uint32
	SumUS                                       uint64
	MaxUS                                       uint32
	Codes                                       [http2head.Codes]uint32
	Latency                                     [batch.Buckets/Coarse + 1]uint32 // by (bucket + Coarse - 1) / Coarse
}

// Text is its name: "GET /users/{id}".
func (k *Kind) Text() string { return string(k.text[:k.length]) }

// Kinds are the kinds of requests of a server since FromUS, in order of first appearance; the one after MaxKinds has
// all others. They are reused.
type Kinds struct {
	FromUS, ToUS int64
	Rows         []Kind
	scratch      [requestkind.Most]byte
}

func newKinds(fromUS int64) *Kinds { return &Kinds{FromUS: fromUS} }

// count counts an answered request that stands for many. It allocates only when a server has more kinds than ever before.
func (k *Kinds) count(request *bpf.RequestsRequest, latencyUS, many uint32) {
	row := k.of(request)
	if row == nil {
		return
	}
	row.Count += many
	row.SumUS += uint64(many) * uint64(latencyUS)
	row.MaxUS = max(row.MaxUS, latencyUS)
	row.Latency[(batch.Bucket(int64(latencyUS))+Coarse-1)/Coarse] += many
	if latencyUS > catalogue.SlowUS {
		row.Slow += many
	}
	row.judge(http2head.Status(request.Status), many)
}

// judge counts the status of a request that was counted before.
func (k *Kinds) judge(request *bpf.RequestsRequest) {
	if row := k.of(request); row != nil {
		row.judge(http2head.Status(request.Status), 1)
	}
}

func (k *Kind) judge(status http2head.Status, many uint32) {
	if status >= http2head.GRPC {
		k.Codes[status-http2head.GRPC] += many
		return
	}
	if status != 0 {
		k.Statuses += many
	}
	switch status {
	case 4:
		k.ClientErrs += many
	case 5:
		k.ServErrs += many
	}
}

// of returns the kind of a request, nil if it has none.
func (k *Kinds) of(request *bpf.RequestsRequest) *Kind {
	if request.HeadLength == 0 {
		return nil
	}
	text := requestkind.Append(k.scratch[:0], request.Head[:min(int(request.HeadLength), len(request.Head))])
	if len(text) == 0 {
		return nil
	}
	return k.row(text)
}

func (k *Kinds) row(text []byte) *Kind {
	for i := range k.Rows {
		if one := &k.Rows[i]; i < MaxKinds && bytes.Equal(one.text[:one.length], text) {
			return one
		}
	}
	if len(k.Rows) > MaxKinds {
		return &k.Rows[MaxKinds]
	}
	k.Rows = append(k.Rows, Kind{})
	one := &k.Rows[len(k.Rows)-1]
	if len(k.Rows) <= MaxKinds {
		one.length = uint8(copy(one.text[:], text))
	}
	return one
}

// TakeKinds replaces the content of into with what a server has counted since the last call. It returns false if that
// is nothing.
func (t *Tracker) TakeKinds(server *Server, nowUS int64, into *Kinds) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if server.counted == nil || len(server.counted.kinds.Rows) == 0 {
		return false
	}
	kinds := server.counted.kinds
	into.FromUS, into.ToUS = kinds.FromUS, nowUS
	into.Rows = append(into.Rows[:0], kinds.Rows...)
	kinds.FromUS, kinds.Rows = nowUS, kinds.Rows[:0]
	return true
}
