package labgrpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Timed is told of each call, by its number: when its request was written and when the kernel received the first headers
// of its answer, in ns since the epoch. It is called before the call returns.
type Timed func(number uint64, askedNs, answeredNs int64)

// Dial makes a client with one connection to address. Its calls send Order.
func Dial(address string, timed Timed) (*grpc.ClientConn, error) {
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		dialed, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: dialed, timed: timed, preface: preface, asked: make(map[uint32]asked)}
		c.arrived = sync.NewCond(&c.inbox)
		if c.raw, err = dialed.(*net.TCPConn).SyscallConn(); err == nil {
			err = c.stamp()
		}
		if err != nil {
			return nil, errors.Join(err, dialed.Close())
		}
		go c.drain()
		return c, nil
	}
	credentials := grpc.WithTransportCredentials(insecure.NewCredentials())
	return grpc.NewClient("passthrough:///"+address, grpc.WithContextDialer(dial), credentials)
}

// Order is the message of a call with this number, by which the connection recognizes it.
func Order(number uint64) *wrapperspb.BytesValue {
	return wrapperspb.Bytes(binary.BigEndian.AppendUint64(nil, number))
}

// What precedes the number of an order on the wire: gRPC's prefix, and tag and length of the bytes.
const beforeNumber = 5 + 2

// conn is a connection that follows its own frames. It hides how else a TCP connection can be read.
type conn struct {
	net.Conn
	raw     syscall.RawConn
	timed   Timed
	preface int    // bytes of it that are still to be written
	out     frames // only for whoever writes
	mu      sync.Mutex
	asked   map[uint32]asked // calls without an answer, by stream

	inbox   sync.Mutex
	arrived *sync.Cond // with inbox
	unread  []byte     // guarded by inbox
	failed  error      // guarded by inbox
}

type asked struct {
	number uint64
	atNs   int64
}

// stamp makes the kernel say when it received what is read.
func (c *conn) stamp() error {
	var failed error
	err := c.raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	return errors.Join(err, failed)
}

// Write notes which requests are complete with these bytes.
func (c *conn) Write(data []byte) (int, error) {
	nowNs := time.Now().UnixNano()
	skipped := min(c.preface, len(data))
	c.preface -= skipped
	for rest := data[skipped:]; len(rest) > 0; {
		n, _, ended := c.out.take(rest)
		rest = rest[n:]
		if ended && c.out.kind() == typeData && c.out.ends() && c.out.kept == len(c.out.began) {
			c.mu.Lock()
			c.asked[c.out.stream()] = asked{binary.BigEndian.Uint64(c.out.began[beforeNumber:]), nowNs}
			c.mu.Unlock()
		}
	}
	return c.Conn.Write(data)
}

// Read reads what drain has read.
func (c *conn) Read(buffer []byte) (int, error) {
	c.inbox.Lock()
	defer c.inbox.Unlock()
	for len(c.unread) == 0 && c.failed == nil {
		c.arrived.Wait()
	}
	if len(c.unread) == 0 {
		return 0, c.failed
	}
	n := copy(buffer, c.unread)
	c.unread = append(c.unread[:0], c.unread[n:]...)
	return n, nil
}

// drain reads from the socket as soon as something arrives, on a thread that does nothing else: what arrives while there
// is something unread is joined to it, and the kernel's timestamp is then that of the last byte (tcp_try_coalesce). So it
// also reads at most one header or payload of a frame at a time.
func (c *conn) drain() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var in frames
	buffer := make([]byte, 32<<10)
	for {
		n, atNs, err := c.receive(buffer[:min(len(buffer), in.wants())])
		if _, began, _ := in.take(buffer[:n]); began && in.kind() == typeHeaders {
			c.answered(in.stream(), atNs)
		}
		c.inbox.Lock()
		c.unread, c.failed = append(c.unread, buffer[:n]...), err
		c.arrived.Signal()
		c.inbox.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *conn) answered(stream uint32, atNs int64) {
	c.mu.Lock()
	call, ok := c.asked[stream]
	delete(c.asked, stream)
	c.mu.Unlock()
	if ok {
		c.timed(call.number, call.atNs, atNs)
	}
}

// lookMs is how often drain notices that the connection was closed.
const lookMs = 50

// receive waits for bytes, and returns how many and when the last one arrived.
func (c *conn) receive(buffer []byte) (n int, atNs int64, err error) {
	var control [64]byte
	var controls int
	failed := error(unix.EAGAIN)
	for failed == unix.EAGAIN || failed == unix.EINTR {
		err = c.raw.Read(func(fd uintptr) bool {
			n, controls, _, _, failed = unix.Recvmsg(int(fd), buffer, control[:], unix.MSG_DONTWAIT)
			if failed == unix.EAGAIN {
				_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, lookMs)
			}
			return true
		})
		if err != nil {
			return 0, 0, err
		}
	}
	switch {
	case failed != nil:
		return 0, 0, failed
	case n == 0:
		return 0, 0, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(control[:controls])
	if err != nil || len(messages) == 0 || len(messages[0].Data) < 16 {
		return n, time.Now().UnixNano(), nil
	}
	stamp := messages[0].Data
	seconds, ns := binary.NativeEndian.Uint64(stamp), binary.NativeEndian.Uint64(stamp[8:])
	return n, int64(seconds)*1e9 + int64(ns), nil
}
