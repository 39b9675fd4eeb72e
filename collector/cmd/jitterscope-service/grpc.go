package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jitterscope/jitterscope/collector/internal/labgrpc"
)

// serveGRPC serves the same as ServeHTTP, apart from files.
func (s *service) serveGRPC(from net.Listener) error {
	server := grpc.NewServer()
	labgrpc.Register(server, func(ctx context.Context, _ []byte) ([]byte, error) {
		if err := s.handle(ctx); err != nil {
			return nil, status.Error(codes.Unavailable, err.Error())
		}
		if err := s.disk.record(); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		return make([]byte, s.answerBytes), nil
	})
	return server.Serve(from)
}
