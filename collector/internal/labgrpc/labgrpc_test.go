package labgrpc

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestCallsAreTimedByNumber: several at a time on one connection, each with the time that the server took at least, and
// one that fails.
func TestCallsAreTimedByNumber(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	const calls = 50
	pause := func(number int) time.Duration { return time.Duration(number) * time.Millisecond }
	Register(server, func(_ context.Context, order []byte) ([]byte, error) {
		number := int(order[len(order)-1])
		time.Sleep(pause(number))
		if number == 7 {
			return nil, status.Error(codes.Internal, "as wanted")
		}
		return make([]byte, 40_000), nil
	})
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	var mu sync.Mutex
	took := make(map[uint64]time.Duration)
	client, err := Dial(listener.Addr().String(), func(number uint64, askedNs, answeredNs int64) {
		mu.Lock()
		defer mu.Unlock()
		took[number] = time.Duration(answeredNs - askedNs)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	var group sync.WaitGroup
	for number := range uint64(calls) {
		group.Go(func() {
			answer := new(wrapperspb.BytesValue)
			err := client.Invoke(t.Context(), "/shop.Orders/Place", Order(number), answer)
			if failed := number == 7; failed != (status.Code(err) == codes.Internal) || !failed && len(answer.GetValue()) != 40_000 {
				t.Errorf("call %d: %d bytes, %v", number, len(answer.GetValue()), err)
			}
		})
	}
	group.Wait()
	for number := range uint64(calls) {
		if time, ok := took[number]; !ok || time < pause(int(number)) {
			t.Errorf("call %d took %s (%v)", number, time, ok)
		}
	}
}

func TestFramesAreFoundHoweverTheyAreCut(t *testing.T) {
	var written bytes.Buffer
	framer := http2.NewFramer(&written, nil)
	for stream := range uint32(4) {
		for _, err := range []error{
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*stream + 1, BlockFragment: []byte("block"), EndHeaders: true}),
			framer.WriteSettingsAck(),
			framer.WriteData(2*stream+1, true, bytes.Repeat([]byte{byte(stream)}, 100)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for size := 1; size < 40; size++ {
		var f frames
		var ended []uint32
		for whole := bytes.NewReader(written.Bytes()); ; {
			part := make([]byte, size)
			n, err := whole.Read(part)
			if err == io.EOF {
				break
			}
			for part = part[:n]; len(part) > 0; {
				taken, _, done := f.take(part)
				part = part[taken:]
				if done && f.kind() == typeData && f.ends() && f.kept == len(f.began) && f.began[0] == byte(f.stream()/2) {
					ended = append(ended, f.stream())
				}
			}
		}
		if len(ended) != 4 || ended[3] != 7 || f.have != 0 {
			t.Errorf("in parts of %d bytes: %v", size, ended)
		}
	}
}
