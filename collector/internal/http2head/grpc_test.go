package http2head

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestStatusOfGRPCComesWithTheTrailers(t *testing.T) {
	for _, size := range []int{0, 1, 3, 100} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			k := newTalk(size)
			for round := range uint32(40) { // the same status is an index from the second time on
				id, code := 1+2*round, round%Codes
				k.send(false, id, ":method=POST", ":path=/shop.Orders/Place", "content-type=application/grpc", "grpc-status=7", ":status=500")
				k.send(true, id, ":status=200", "content-type=application/grpc+proto", "grpc-encoding=identity")
				k.expect(t, id, "POST /shop.Orders/Place ", 0)
				owner := Owner{Server: id, Generation: 9}
				k.known.Await(connectionID, id, owner)
				k.send(true, id, fmt.Sprint("grpc-status=", code), "grpc-message="+strings.Repeat("m", int(code)))
				k.expect(t, id, "POST /shop.Orders/Place ", GRPC+Status(code))
				if !slices.Equal(k.arrived, []Owner{owner}) {
					t.Fatalf("stream %d: statuses of %v arrived", id, k.arrived)
				}
				k.arrived = nil
			}
		})
	}
}

// TestStatusWithTheFirstHeaders: an answer that is nothing but trailers is not awaited.
func TestStatusWithTheFirstHeaders(t *testing.T) {
	k := newTalk(0)
	for _, answer := range []struct {
		fields string
		want   Status
	}{
		{":status=200 content-type=application/grpc grpc-status=14", GRPC + 14},
		{":status=200 content-type=application/grpc;charset=x grpc-status=0", GRPC},
		{":status=200 content-type=application/grpc grpc-status=99", GRPC + 2},
		{":status=200 content-type=application/grpc grpc-status=-1", GRPC + 2},
		{":status=200 content-type=application/grpc secret=grpc-status grpc-status-details=13", 0},
		{":status=200 content-type=application/grpc-web+proto grpc-status=13", 2},
		{":status=200 content-type=text/html grpc-status=13", 2},
		{":status=200 grpc-status=13", 2},
		{":status=503 content-type=application/grpc grpc-status=14", 5},
	} {
		for range 2 {
			id := uint32(2*k.parts[1] + 1)
			k.send(true, id, strings.Fields(answer.fields)...)
			if _, got := k.known.Head(connectionID, id, nil); got != answer.want {
				t.Errorf("%s: status %d, want %d", answer.fields, got, answer.want)
			}
		}
	}
	if len(k.arrived) > 0 {
		t.Errorf("statuses of %v arrived", k.arrived)
	}
}

// TestNoStatusIsGuessed: after a part was lost, of a stream whose place a later one has, or without a status.
func TestNoStatusIsGuessed(t *testing.T) {
	begin := func() *talk {
		k := newTalk(0)
		k.send(true, 1, ":status=200", "content-type=application/grpc")
		k.known.Await(connectionID, 1, Owner{})
		return k
	}
	for name, rest := range map[string]func(*talk){
		"a part was lost": func(k *talk) { k.parts[1]++; k.send(true, 1, "grpc-status=13") },
		"no status":       func(k *talk) { k.send(true, 1, "grpc-message=x") },
		"a later stream":  func(k *talk) { k.send(true, 1+2*streams, ":status=200"); k.send(true, 1, "grpc-status=13") },
		"a later stream during the block": func(k *talk) {
			k.size = 2
			k.during = func() { k.send(false, 1+2*streams, ":path=/"); k.known.Await(connectionID, 1+2*streams, Owner{}) }
			k.send(true, 1, "grpc-status=13")
			k.send(true, 1+2*streams, ":status=200", "content-type=application/grpc")
			k.expect(t, 1+2*streams, "", 0)
		},
		"another stream":   func(k *talk) { k.send(true, 3, "grpc-status=13") },
		"the client's own": func(k *talk) { k.send(false, 1, "grpc-status=13") },
		"an old stream":    func(k *talk) { k.known.Begin(connectionID); k.parts[1] = 0; k.send(true, 1, "grpc-status=0") },
	} {
		k := begin()
		rest(k)
		if len(k.arrived) > 0 {
			t.Errorf("%s: a status arrived", name)
		}
	}
	k := begin()
	k.send(true, 1, "grpc-status=13")
	k.send(true, 1, "grpc-status=0")
	if len(k.arrived) != 1 {
		t.Errorf("%d statuses arrived", len(k.arrived))
	}
}

// heard is what a connection of a server has received and sent.
type heard struct {
	net.Conn
	mu      *sync.Mutex
	in, out *bytes.Buffer
}

func (h heard) Read(data []byte) (int, error) {
	n, err := h.Conn.Read(data)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.in.Write(data[:n])
	return n, err
}

func (h heard) Write(data []byte) (int, error) {
	h.mu.Lock()
	h.out.Write(data)
	h.mu.Unlock()
	return h.Conn.Write(data)
}

// hearing is a listener for one connection.
type hearing struct {
	net.Listener
	heard
}

func (l *hearing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	l.Conn = conn
	return l.heard, err
}

func (l *hearing) Close() error   { return l.Listener.Close() }
func (l *hearing) Addr() net.Addr { return l.Listener.Addr() }

// TestHeadersOfRealCalls: every code, from a server and a client of google.golang.org/grpc, with a message before the
// status and without.
func TestHeadersOfRealCalls(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &hearing{Listener: listener, heard: heard{mu: new(sync.Mutex), in: new(bytes.Buffer), out: new(bytes.Buffer)}}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		var code int
		var how string
		if _, err := fmt.Sscanf(method, "/shop.Orders/Code%d%s", &code, &how); err != nil {
			return err
		}
		if err := stream.RecvMsg(new(emptypb.Empty)); err != nil {
			return err
		}
		if how == "Late" || code == 0 {
			if err := stream.SendMsg(new(emptypb.Empty)); err != nil {
				return err
			}
		}
		return grpcstatus.Error(codes.Code(code), "as wanted")
	}))
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	client, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var want []Status
	for round := range 2 * Codes {
		code, how := round%Codes, []string{"Late", "Only"}[round/Codes]
		err := client.Invoke(ctx, fmt.Sprintf("/shop.Orders/Code%d%s", code, how), new(emptypb.Empty), new(emptypb.Empty))
		if int(grpcstatus.Code(err)) != code {
			t.Fatalf("code %d: %v", code, err)
		}
		want = append(want, GRPC+Status(code))
	}
	_ = client.Close()
	server.Stop()

	k := newTalk(5)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.in.Next(len(http2.ClientPreface))
	statuses := make(map[uint32]Status)
	for _, side := range []struct {
		bytes  io.Reader
		answer bool
	}{{l.in, false}, {l.out, true}} {
		framer := http2.NewFramer(io.Discard, side.bytes)
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				break // the last one
			}
			headers, ok := frame.(*http2.HeadersFrame)
			if !ok {
				continue
			}
			id := headers.StreamID
			k.frame(side.answer, id, 0, headers.HeaderBlockFragment())
			if side.answer {
				_, statuses[id] = k.known.Head(connectionID, id, nil)
				k.known.Await(connectionID, id, Owner{Server: id})
			}
		}
	}
	for i, wanted := range want {
		id := uint32(2*i + 1)
		k.expect(t, id, fmt.Sprintf("POST /shop.Orders/Code%d%s ", i%Codes, []string{"Late", "Only"}[i/Codes]), wanted)
		late := slices.Contains(k.arrived, Owner{Server: id})
		if statuses[id] != wanted || late != (i < Codes || i%Codes == 0) {
			t.Errorf("stream %d: status %d, want %d; it came with trailers: %v", id, statuses[id], wanted, late)
		}
	}
}
