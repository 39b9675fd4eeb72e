package main

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/jitterscope/jitterscope/collector/internal/labgrpc"
)

// grpcClient makes unary calls on a schedule, in turn on a few connections, any number at a time on each: none waits for
// another. A call's time runs from when its request was written to when the kernel received the first headers of its
// answer.
type grpcClient struct {
	ledger
	methods     []string
	connections []*grpc.ClientConn
	timeout     time.Duration
	calls       sync.WaitGroup
	wroteNs     []atomic.Int64 // of calls that were answered
	arrivedNs   []atomic.Int64
}

func newGRPCClient(server netip.AddrPort, methods []string, connections, capacity int) (*grpcClient, error) {
	g := &grpcClient{
		ledger: newLedger(capacity), methods: methods,
		wroteNs: make([]atomic.Int64, capacity), arrivedNs: make([]atomic.Int64, capacity),
	}
	timed := func(number uint64, askedNs, answeredNs int64) {
		g.wroteNs[number].Store(askedNs)
		g.arrivedNs[number].Store(answeredNs)
	}
	for range connections {
		connection, err := labgrpc.Dial(server.String(), timed)
		if err != nil {
			g.close()
			return nil, err
		}
		connection.Connect()
		g.connections = append(g.connections, connection)
	}
	return g, nil
}

func (g *grpcClient) close() {
	for _, connection := range g.connections {
		_ = connection.Close()
	}
}

func (g *grpcClient) run(p *plan, timeout time.Duration) error {
	g.timeout = timeout
	err := g.pace(p, func(i int, plannedNs int64) error {
		g.sent(time.Now().UnixNano(), plannedNs)
		g.calls.Go(func() { g.call(i) })
		return nil
	})
	g.calls.Wait() // each ends by its timeout
	for i := range g.count {
		if wroteNs := g.wroteNs[i].Load(); wroteNs > 0 {
			later := wroteNs + g.wireNs - g.sentNs[i]
			g.sentNs[i] += later
			g.delayNs[i] += later
		}
	}
	return err
}

// call makes the i-th call. One that ends without an answer by its timeout is lost.
func (g *grpcClient) call(i int) {
	ctx, cancel := context.WithTimeout(context.Background(), g.timeout)
	defer cancel()
	method := g.methods[i%len(g.methods)]
	err := g.connections[i%len(g.connections)].Invoke(ctx, method, labgrpc.Order(uint64(i)), new(wrapperspb.BytesValue))
	switch arrivedNs := g.arrivedNs[i].Load(); {
	case arrivedNs > 0:
		g.answered(i, resultOfCode(status.Code(err)), arrivedNs)
	case ctx.Err() == nil && status.Code(err) != codes.DeadlineExceeded: // which the server can notice first
		g.answered(i, resultOther, time.Now().UnixNano())
	}
}

// resultOfCode uses the QueryResult numbers with the equivalent meaning.
func resultOfCode(code codes.Code) uint8 {
	switch code {
	case codes.OK:
		return resultNoError
	case codes.Unknown, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
		return resultServFail
	}
	return resultOther
}
