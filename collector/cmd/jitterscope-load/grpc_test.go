package main

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jitterscope/jitterscope/collector/internal/labgrpc"
)

// TestCallsDoNotWaitForEachOther: one connection, calls that take longer than the time between them, some of which fail
// or are never answered.
func TestCallsDoNotWaitForEachOther(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const delay, timeout = 50 * time.Millisecond, 4 * time.Second
	server := grpc.NewServer()
	labgrpc.Register(server, func(ctx context.Context, order []byte) ([]byte, error) {
		switch order[len(order)-1] % 10 {
		case 3:
			<-ctx.Done()
		case 5:
			return nil, status.Error(codes.Internal, "as wanted")
		}
		time.Sleep(delay)
		return make([]byte, 1000), nil
	})
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	g, err := newGRPCClient(listener.Addr().(*net.TCPAddr).AddrPort(), []string{"/shop.Orders/Place"}, 1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	p := plan{startNs: time.Now().UnixNano(), durationNs: 5e8, qps: 100}
	if err := g.run(&p, timeout); err != nil {
		t.Fatal(err)
	}
	r := g.result(p, timeout)
	if len(r.sentUs) != 50 {
		t.Fatalf("%d calls were sent", len(r.sentUs))
	}
	for i, code := range r.code {
		want, least := uint8(resultNoError), delay
		switch i % 10 {
		case 3:
			want, least = resultTimeout, timeout
		case 5:
			want, least = resultServFail, 0
		}
		if took := time.Duration(r.latencyUs[i]) * time.Microsecond; code != want || took < least {
			t.Errorf("call %d: result %d after %s, want %d after %s", i, code, took, want, least)
		}
	}
}
