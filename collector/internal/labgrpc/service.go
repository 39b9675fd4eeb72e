// Package labgrpc is the gRPC service of the labs, and a client that times each call where the kernel sees it.
package labgrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Register adds the service shop.Orders with its method Place, which answers bytes with bytes.
func Register(server *grpc.Server, place func(ctx context.Context, order []byte) ([]byte, error)) {
	handle := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		order := new(wrapperspb.BytesValue)
		if err := decode(order); err != nil {
			return nil, err
		}
		answer, err := place(ctx, order.GetValue())
		if err != nil {
			return nil, err
		}
		return wrapperspb.Bytes(answer), nil
	}
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "shop.Orders", Methods: []grpc.MethodDesc{{MethodName: "Place", Handler: handle}},
	}, nil)
}
