package requests

import (
	"fmt"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/http2head"
)

func TestStatusesAreCountedOnceThereIsOne(t *testing.T) {
	w := newWorld(t)
	status := func(class uint8, cameUS int64) {
		w.exchange(cameUS, 1_000)
		w.pending[len(w.pending)-1].Status = class
	}
	status(0, 10_000)
	w.sample(0, 0)
	if _, ok := w.values[fmt.Sprint(0, "/", catalogue.HttpResponses)]; ok {
		t.Error("what is not known to be HTTP has no statuses, and not 0 of them")
	}
	for i, class := range []uint8{1, 2, 3, 4, 4, 5, 0} {
		status(class, 100_000+int64(i)*10_000)
	}
	w.sample(1, 0)
	w.sample(2, 0)
	for tick, want := range map[int64][4]float64{1: {7, 6, 2, 1}, 2: {0, 0, 0, 0}} {
		w.expect(tick, catalogue.Responses, want[0])
		w.expect(tick, catalogue.HttpResponses, want[1])
		w.expect(tick, catalogue.HttpClientErrors, want[2])
		w.expect(tick, catalogue.HttpServerErrors, want[3])
	}
}

// TestStatusesOfGRPCComeLater: after the request was counted, even after its kind was reported.
func TestStatusesOfGRPCComeLater(t *testing.T) {
	w := newWorld(t)
	ask := func(status http2head.Status, cameUS int64, end uint8) {
		tick := uint32(baseTick + cameUS/batch.StepUS)
		if end == answered {
			tick = w.come(cameUS)
		}
		w.finish(tick, cameUS, cameUS, cameUS+1_000, end)
		request := &w.pending[len(w.pending)-1]
		request.Status, request.HeadLength = uint8(status), uint8(copy(request.Head[:], "POST /shop.Orders/Place "))
	}
	for i := range 3 {
		ask(0, int64(i)*10_000, answered)
	}
	ask(http2head.GRPC+5, 40_000, answered)
	ask(http2head.GRPC+14, 50_000, statusCame)
	w.sample(0, 0)
	var kinds Kinds
	if !w.tracker.TakeKinds(w.server, 1, &kinds) || len(kinds.Rows) != 1 {
		t.Fatalf("%d kinds", len(kinds.Rows))
	}
	if row := kinds.Rows[0]; row.Count != 4 || row.Codes[5] != 1 || row.Codes[14] != 1 || row.Statuses != 0 {
		t.Errorf("%+v", row)
	}
	ask(http2head.GRPC, 110_000, statusCame)
	ask(http2head.GRPC+13, 120_000, statusCame)
	w.sample(1, 0)
	if !w.tracker.TakeKinds(w.server, 2, &kinds) || len(kinds.Rows) != 1 {
		t.Fatalf("%d kinds", len(kinds.Rows))
	}
	if row := kinds.Rows[0]; row.Count != 0 || row.Codes[0] != 1 || row.Codes[13] != 1 || row.SumUS != 0 {
		t.Errorf("%+v", row)
	}
	for tick, want := range map[int64][5]float64{0: {4, 4, 2, 1, 1}, 1: {0, 0, 2, 0, 1}} {
		w.expect(tick, catalogue.Requests, want[0])
		w.expect(tick, catalogue.Responses, want[1])
		w.expect(tick, catalogue.GrpcResponses, want[2])
		w.expect(tick, catalogue.GrpcClientErrors, want[3])
		w.expect(tick, catalogue.GrpcServerErrors, want[4])
	}
	if _, ok := w.values[fmt.Sprint(1, "/", catalogue.HttpResponses)]; ok {
		t.Error("an answer of gRPC counts as one of HTTP")
	}
}
