package livetest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/labgrpc"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// caller calls a gRPC server over one connection.
type caller struct {
	t      *testing.T
	conn   *grpc.ClientConn
	number atomic.Uint64
}

func newCaller(t *testing.T, address string, into *measured) *caller {
	t.Helper()
	conn, err := labgrpc.Dial(address, func(_ uint64, askedNs, answeredNs int64) { into.add(time.Duration(answeredNs - askedNs)) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &caller{t: t, conn: conn}
}

// call calls /test.Calls/Ask with metadata and expects a code.
func (c *caller) call(code codes.Code, asks ...string) {
	c.t.Helper()
	ctx := c.asking(code, asks...)
	err := c.conn.Invoke(ctx, "/test.Calls/Ask", labgrpc.Order(c.number.Add(1)), new(wrapperspb.BytesValue))
	if status.Code(err) != code {
		c.t.Errorf("%v instead of code %d", err, code)
	}
}

func (c *caller) asking(code codes.Code, asks ...string) context.Context {
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	c.t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, append([]string{"code", strconv.Itoa(int(code))}, asks...)...)
}

// watch calls /test.Calls/Watch: the status comes after a message.
func (c *caller) watch(code codes.Code, asks ...string) {
	c.t.Helper()
	stream, err := c.conn.NewStream(c.asking(code, asks...), &grpc.StreamDesc{ServerStreams: true}, "/test.Calls/Watch")
	if err != nil {
		c.t.Fatal(err)
	}
	if err := stream.SendMsg(labgrpc.Order(c.number.Add(1))); err != nil {
		c.t.Error(err)
	}
	if err := stream.CloseSend(); err != nil {
		c.t.Error(err)
	}
	if err := stream.RecvMsg(new(wrapperspb.BytesValue)); err != nil {
		c.t.Errorf("no message: %v", err)
	}
	if err := stream.RecvMsg(new(wrapperspb.BytesValue)); status.Code(err) != code && code != codes.OK {
		c.t.Errorf("%v instead of code %d", err, code)
	}
}

// startCalled starts a gRPC server: of Go, or of gRPC's C library, with which it is used from Python.
func startCalled(t *testing.T, library, address string) *exec.Cmd {
	t.Helper()
	if library == "Go" {
		return startServer(t, nil, buildTestProgram(t, "grpcserver"), address)
	}
	python, err := filepath.Abs("../../../backend/.venv/bin/python")
	if err == nil {
		_, err = os.Stat(python)
	}
	if err != nil {
		testenv.Skip(t, "needs grpcio: run make build-python (%v)", err)
	}
	return startServer(t, nil, python, "testdata/grpcserver/server.py", address)
}

// TestCallsOfGRPCAreTimed: several at a time on one connection, some of which have to wait for a stopped server.
func TestCallsOfGRPCAreTimed(t *testing.T) {
	for _, library := range []string{"Go", "C"} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t, "127.0.0.1")
			server := startCalled(t, library, address)
			o := observe(t, requestSources)
			o.needs("tcp_requests")
			key := serverKey(t, server.Process.Pid, address)
			into := newMeasured(t)
			client := newCaller(t, address, into)
			waitFor(t, "the server is known", func() bool { client.call(codes.OK); return o.hasResource(key) })
			time.Sleep(500 * time.Millisecond)
			from := nextTick()
			into.take()
			const workers = 4
			load(t, workers, 200, func(_, request int) {
				sleep := "4ms"
				if request%50 == 49 {
					sleep = "30ms"
				}
				client.call(codes.OK, "sleep", sleep)
			})
			answers := make(chan struct{}, 10)
			at := stopped(t, server, 300*time.Millisecond, func() {
				for range cap(answers) {
					go func() { client.call(codes.OK); answers <- struct{}{} }()
				}
			})
			for range cap(answers) {
				<-answers
			}
			latencies := into.take()
			time.Sleep(settle)
			o.stop()
			checkRequests(t, o, key, from, latencies)
			wait, _ := o.quantile(key, catalogue.RequestWaitUS, at, 1)
			if longest := float64(latencies[len(latencies)-1].Microseconds()); wait < 100_000 || wait > 1.05*longest {
				t.Errorf("the longest wait in the socket is %.0f us, the longest call %.0f us", wait, longest)
			}
		})
	}
}

// TestStatusesOfGRPC: each code, with the first headers or after a message, is counted exactly, by series and by kind. Of
// a connection that is older than the collector none is.
func TestStatusesOfGRPC(t *testing.T) {
	for _, library := range []string{"Go", "C"} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			address := freeAddress(t, "127.0.0.1")
			server := startCalled(t, library, address)
			into := newMeasured(t)
			old := newCaller(t, address, into)
			old.call(codes.OK)
			o := observe(t, requestSources)
			o.needs("tcp_requests")
			key := serverKey(t, server.Process.Pid, address)
			waitFor(t, "the server is known", func() bool { old.call(codes.OK); return o.hasResource(key) })
			time.Sleep(500 * time.Millisecond)
			from := nextTick()
			client := newCaller(t, address, into)
			for code := range codes.Code(17) {
				for range 2 + code {
					client.call(code)
				}
				client.watch(code)
				old.call(codes.Internal)
			}
			client.watch(codes.DataLoss, "hold", "1200ms") // its status comes in another tick
			time.Sleep(settle)
			o.stop()
			serverErrors, clientErrors, all := 1.0, 0.0, 1.0
			for code := range 17 {
				calls := float64(3 + code)
				all += calls
				switch code {
				case 2, 4, 12, 13, 14, 15:
					serverErrors += calls
				case 0:
				default:
					clientErrors += calls
				}
			}
			for metric, want := range map[uint32]float64{
				catalogue.Responses: all + 17, catalogue.GrpcResponses: all, catalogue.GrpcServerErrors: serverErrors, catalogue.GrpcClientErrors: clientErrors,
			} {
				if got := o.sum(key, metric, from); got != want {
					t.Errorf("%s is %v, want %v", catalogue.All[metric].Name, got, want)
				}
			}
			if points := o.series(key, catalogue.HttpResponses); len(points) > 0 {
				t.Errorf("answers of gRPC count as HTTP: %v", points)
			}
			ask, watch := o.codes(t, key, "POST /test.Calls/Ask"), o.codes(t, key, "POST /test.Calls/Watch")
			for code := range 17 {
				want := 1
				if code == int(codes.DataLoss) {
					want = 2
				}
				if ask[code] != 2+code || watch[code] != want {
					t.Errorf("code %d: %d and %d calls", code, ask[code], watch[code])
				}
			}
		})
	}
}

// codes adds up the codes of a kind of requests.
func (o *observer) codes(t *testing.T, key, kind string) map[int]int {
	t.Helper()
	found := make(map[int]int)
	for _, event := range o.events(key, catalogue.EventRequestsKinds) {
		var rows [][]any
		var pairs [][]int
		if event.Attributes["grpc"] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(event.Attributes["rows"]), &rows); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(event.Attributes["grpc"]), &pairs); err != nil || len(pairs) != len(rows) {
			t.Fatalf("%v: %d kinds, %s", err, len(rows), event.Attributes["grpc"])
		}
		for i, row := range rows {
			for place := 1; row[0] == kind && place < len(pairs[i]); place += 2 {
				found[pairs[i][place-1]] += pairs[i][place]
			}
		}
	}
	return found
}
