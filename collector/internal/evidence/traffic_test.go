package evidence

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// testServer is a real DNS server on UDP and TCP whose names select its answers: slow-40. after 40 ms, nx. does not
// exist, fail. is SERVFAIL, never. gets no answer, last. has no records.
type testServer struct {
	address, host string
	port          int
}

func startServer(t *testing.T, host string) testServer {
	t.Helper()
	for range 20 {
		packets, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		address := packets.LocalAddr().String()
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_ = packets.Close()
			continue
		}
		for _, s := range []*dns.Server{
			{PacketConn: packets, Handler: dns.HandlerFunc(answerTest)},
			{Listener: listener, Handler: dns.HandlerFunc(answerTest), MaxTCPQueries: -1},
		} {
			go func() { _ = s.ActivateAndServe() }()
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_ = s.ShutdownContext(ctx)
			})
		}
		return testServer{address, host, packets.LocalAddr().(*net.UDPAddr).Port}
	}
	t.Fatal("no port is free for both protocols")
	return testServer{}
}

func answerTest(w dns.ResponseWriter, query *dns.Msg) {
	answer := new(dns.Msg).SetReply(query)
	var delay int
	name := query.Question[0].Name
	switch {
	case name == "never.example.":
		return
	case name == lastName:
	case name == "nx.example.":
		answer.Rcode = dns.RcodeNameError
	case name == "fail.example.":
		answer.Rcode = dns.RcodeServerFailure
	default:
		_, _ = fmt.Sscanf(name, "slow-%d.", &delay)
		record, _ := dns.NewRR(name + " 30 IN A 192.0.2.1")
		answer.Answer = append(answer.Answer, record)
	}
	time.Sleep(time.Duration(delay) * time.Millisecond)
	_ = w.WriteMsg(answer)
}

func packedQuery(t testing.TB, id uint16, name string) []byte {
	t.Helper()
	m := new(dns.Msg).SetQuestion(name, dns.TypeA)
	m.Id = id
	wire, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func withPrefix(messages ...[]byte) []byte {
	var stream []byte
	for _, m := range messages {
		stream = append(binary.BigEndian.AppendUint16(stream, uint16(len(m))), m...)
	}
	return stream
}

// askUDP sends the names one after another over one socket; an unanswered one is sent twice.
func askUDP(t *testing.T, server testServer, names []string) {
	connection, err := net.Dial("udp", server.address)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = connection.Close() }()
	buffer := make([]byte, 4096)
	for i, name := range names {
		query := packedQuery(t, uint16(1000+i), name)
		_, _ = connection.Write(query)
		if name == "never.example." {
			time.Sleep(20 * time.Millisecond)
			_, _ = connection.Write(query)
			continue
		}
		_ = connection.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := connection.Read(buffer); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// askTCP sends all names at once in pieces of the given size (0: one piece), so that answers can share segments.
func askTCP(t *testing.T, server testServer, names []string, piece int) {
	connection, err := net.Dial("tcp", server.address)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = connection.Close() }()
	var queries [][]byte
	for i, name := range names {
		queries = append(queries, packedQuery(t, uint16(2000+i), name))
	}
	stream := withPrefix(queries...)
	if piece == 0 {
		piece = len(stream)
	}
	_ = connection.SetDeadline(time.Now().Add(time.Minute))
	for at := 0; at < len(stream); at += piece {
		_, _ = connection.Write(stream[at:min(at+piece, len(stream))])
		if piece < len(stream) {
			time.Sleep(time.Millisecond)
		}
	}
	readAnswers(t, connection, len(names))
}

func readAnswers(t *testing.T, connection io.Reader, count int) {
	for range count {
		var length [2]byte
		if _, err := io.ReadFull(connection, length[:]); err != nil {
			t.Error(err)
			return
		}
		if _, err := io.CopyN(io.Discard, connection, int64(binary.BigEndian.Uint16(length[:]))); err != nil {
			t.Error(err)
			return
		}
	}
}

// askFromPort uses one source port twice, the second time after a reset.
func askFromPort(t *testing.T, server testServer) {
	probe, err := net.Listen("tcp", net.JoinHostPort(server.host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	local := probe.Addr().(*net.TCPAddr)
	_ = probe.Close()
	for range 2 {
		dialer := net.Dialer{LocalAddr: local, Control: func(_, _ string, raw syscall.RawConn) error {
			return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) })
		}}
		connection, err := dialer.Dial("tcp", server.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = connection.Write(withPrefix(packedQuery(t, 77, "again.example.")))
		readAnswers(t, connection, 1)
		_ = connection.(*net.TCPConn).SetLinger(0)
		_ = connection.Close()
		time.Sleep(20 * time.Millisecond) // sent from another CPU, the next SYN could overtake the RST
	}
}

// closeBeforeAnswer sends a FIN while the server is still working, as a client that expires its connections does.
func closeBeforeAnswer(t *testing.T, server testServer) {
	connection, err := net.Dial("tcp", server.address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = connection.Write(withPrefix(packedQuery(t, 88, "slow-600.example.")))
	_ = connection.(*net.TCPConn).CloseWrite()
	time.Sleep(100 * time.Millisecond)
	_ = connection.(*net.TCPConn).SetLinger(0) // its RST represents a client that has forgotten the connection
	_ = connection.Close()
	time.Sleep(600 * time.Millisecond)
}

// lastName is looked up last, once: a capture with its query and answer is complete.
const lastName = "last.example."

// makeTraffic sends queries in all these ways, concurrently.
func makeTraffic(t *testing.T, server testServer) {
	var group sync.WaitGroup
	together := func(do func()) { group.Go(do) }
	for i := range 4 {
		together(func() {
			names := []string{"a.example.", "nx.example.", fmt.Sprintf("slow-%d.example.", 5*i+3), "never.example.", "fail.example."}
			askUDP(t, server, append(names, names...))
		})
		together(func() {
			for piece := range 3 {
				askTCP(t, server, []string{"a.example.", "slow-30.example.", "B.example.", "nx.example."}, piece*7)
			}
		})
	}
	together(func() { askFromPort(t, server) })
	together(func() { closeBeforeAnswer(t, server) })
	group.Wait()
	askUDP(t, server, []string{lastName})
}
