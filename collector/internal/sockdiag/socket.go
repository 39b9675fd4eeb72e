package sockdiag

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
)

// Needs lists what queries require, for SourceStatus.
const Needs = "a kernel with CONFIG_INET_TCP_DIAG (module tcp_diag)"

// TCP is one socket.
type TCP struct {
	Local, Remote dnswire.Endpoint
	State         uint8
	Inode         uint32 // 0: a connection that has not been accepted yet
	ReceiveQueue  uint32 // bytes not read yet; for a listening socket: connections not accepted yet
	SendQueue     uint32 // bytes not acknowledged; for a listening socket: how many can wait to be accepted
	Drops         uint32 // Listening only: connection attempts dropped since the socket was created
	// How long ago data was last sent and received, Connections only; for a connection without any: since it was
	// created.
	SentMS, ReceivedMS uint32
	// Segments with data so far, Connections only; 0 before Linux 4.6.
	SegmentsSent, SegmentsReceived uint32
}

// Socket queries the network namespace in which it was opened. It is used by one goroutine at a time.
type Socket struct {
	fd       int
	sequence uint32
	row      TCP
	buffer   [32 << 10]byte // the kernel sends no larger pieces
}

// Open opens a socket in the network namespace of the calling thread.
func Open() (*Socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("sock_diag: %w", err)
	}
	s := &Socket{fd: fd}
	if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, errors.Join(fmt.Errorf("sock_diag: %w", err), s.Close())
	}
	if err := s.Dump(Listening(), func(*TCP) {}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenIn opens a socket in the network namespace of a process, whose inode is namespace; own is the collector's.
func OpenIn(proc string, pid int, namespace, own uint64) (socket *Socket, err error) {
	if namespace == own || namespace == 0 {
		return Open()
	}
	err = netns.Do(proc, pid, func() error {
		socket, err = Open()
		return err
	})
	return socket, err
}

// Close closes the socket.
func (s *Socket) Close() error { return unix.Close(s.fd) }

// errCut is a malformed answer.
var errCut = errors.New("sock_diag: malformed answer")

// Dump calls visit with each matching socket; the row is valid until visit returns. An error can come after some rows.
func (s *Socket) Dump(query *Query, visit func(*TCP)) error {
	s.sequence++
	binary.NativeEndian.PutUint32(query.message[8:], s.sequence)
	if err := s.send(query.message); err != nil {
		return err
	}
	for {
		n, err := unix.Read(s.fd, s.buffer[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil: // the whole answer exists before send returns, or reading produces it: no waiting
			return fmt.Errorf("sock_diag: %w", err)
		}
		done, err := s.parse(s.buffer[:n], visit)
		if done || err != nil {
			return err
		}
	}
}

// send sends a request.
func (s *Socket) send(message []byte) error {
	for {
		_, err := unix.Write(s.fd, message)
		if err != unix.EINTR {
			return err
		}
	}
}

// parse reads one piece of the answer; done says that it was the last.
func (s *Socket) parse(data []byte, visit func(*TCP)) (done bool, err error) {
	native := binary.NativeEndian
	for len(data) >= messageHeader {
		size := int(native.Uint32(data))
		if size < messageHeader || size > len(data) {
			return true, errCut
		}
		kind, sequence, body := native.Uint16(data[4:]), native.Uint32(data[8:]), data[messageHeader:size]
		data = data[min((size+3)&^3, len(data)):]
		switch {
		case sequence != s.sequence: // from an earlier answer
		case kind == unix.NLMSG_DONE || kind == unix.NLMSG_ERROR:
			if len(body) < 4 {
				return true, errCut
			}
			if code := int32(native.Uint32(body)); code < 0 {
				return true, fmt.Errorf("sock_diag: %w", unix.Errno(-code))
			}
			return true, nil
		case kind == getSockets && parseRow(body, &s.row):
			visit(&s.row)
		}
	}
	return false, nil
}

const rowBytes = 72 // struct inet_diag_msg

// parseRow reads struct inet_diag_msg and the attributes after it. Ports and addresses are in network byte order.
func parseRow(body []byte, row *TCP) bool {
	if len(body) < rowBytes {
		return false
	}
	native := binary.NativeEndian
	*row = TCP{
		State: body[1], ReceiveQueue: native.Uint32(body[56:]), SendQueue: native.Uint32(body[60:]), Inode: native.Uint32(body[68:]),
	}
	row.Local.Port, row.Remote.Port = binary.BigEndian.Uint16(body[4:]), binary.BigEndian.Uint16(body[6:])
	row.Local.Address, row.Remote.Address = address(body[0], body[8:24]), address(body[0], body[24:40])
	for rest := body[rowBytes:]; len(rest) >= attributeHeader; {
		size := int(native.Uint16(rest))
		if size < attributeHeader || size > len(rest) {
			break
		}
		value := rest[attributeHeader:size]
		switch native.Uint16(rest[2:]) {
		case attributeInfo:
			if len(value) >= 56 { // tcpi_last_data_sent, tcpi_last_data_recv
				row.SentMS, row.ReceivedMS = native.Uint32(value[44:]), native.Uint32(value[52:])
			}
			if len(value) >= 160 { // tcpi_data_segs_in, tcpi_data_segs_out
				row.SegmentsReceived, row.SegmentsSent = native.Uint32(value[152:]), native.Uint32(value[156:])
			}
		case attributeMemory:
			if len(value) >= 36 { // SK_MEMINFO_DROPS
				row.Drops = native.Uint32(value[32:])
			}
		}
		rest = rest[min((size+3)&^3, len(rest)):]
	}
	return true
}

func address(family uint8, raw []byte) (a dnswire.Address) {
	if family == unix.AF_INET {
		a[10], a[11] = 0xff, 0xff
		copy(a[12:], raw[:4])
		return a
	}
	copy(a[:], raw)
	return a
}
