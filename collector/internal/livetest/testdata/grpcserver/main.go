// Command grpcserver answers gRPC calls as their metadata ask: after "sleep", with the code "code". /test.Calls/Ask
// answers with a message or a status, /test.Calls/Watch with a message first, and with the status after "hold". It ends
// when its standard input does.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(answer))
	go func() { log.Fatal(server.Serve(listener)) }()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func answer(_ any, stream grpc.ServerStream) error {
	if err := stream.RecvMsg(new(wrapperspb.BytesValue)); err != nil {
		return err
	}
	wait(stream.Context(), "sleep")
	code, _ := strconv.Atoi(asked(stream.Context(), "code"))
	method, _ := grpc.MethodFromServerStream(stream)
	if method == "/test.Calls/Watch" || code == 0 {
		if err := stream.SendMsg(wrapperspb.Bytes([]byte("answer"))); err != nil {
			return err
		}
		wait(stream.Context(), "hold")
	}
	return status.Error(codes.Code(code), "as asked")
}

func wait(ctx context.Context, what string) {
	if duration, err := time.ParseDuration(asked(ctx, what)); err == nil {
		time.Sleep(duration)
	}
}

func asked(ctx context.Context, what string) string {
	values := metadata.ValueFromIncomingContext(ctx, what)
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
