package livetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// stopsToAccept is a server that lets 3 connections wait (its backlog plus one), accepts none between two lines of its
// input, and answers each line.
const stopsToAccept = `
import select, socket, sys, threading
host, port = sys.argv[1].rsplit(":", 1)
s = socket.create_server((host, int(port)), backlog=2)
print("ready", flush=True)
def serve(c):
    while c.recv(100):
        c.sendall(b"answer\n")
while True:
    if sys.stdin in select.select([s, sys.stdin], [], [])[0]:
        sys.stdin.readline()
        sys.stdin.readline()
    else:
        threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
`

func triggersOf(o *observer, key, reason string) (count int) {
	o.each(func(b *ingestpb.Batch) {
		for _, trigger := range b.Triggers {
			if trigger.Reason == reason && b.Resources[trigger.Resource].Key == key {
				count++
			}
		}
	})
	return count
}

// TestAcceptQueueOverflows: how many connections wait, how many are dropped, and how long the handshakes take that did
// not fit.
func TestAcceptQueueOverflows(t *testing.T) {
	for _, when := range []string{"it listens before the collector runs", "it begins to listen"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			acceptQueueOverflows(t, when == "it begins to listen")
		})
	}
}

func acceptQueueOverflows(t *testing.T, later bool) {
	address := freeAddress(t, "127.0.0.1")
	var server *exec.Cmd
	var accept io.Writer
	if !later {
		server, accept = startPython(t, stopsToAccept, address)
	}
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	if later {
		time.Sleep(2 * time.Second) // the collector has scanned for listeners
		server, accept = startPython(t, stopsToAccept, address)
	}
	key := serverKey(t, server.Process.Pid, address)
	ask := func() time.Duration {
		began := time.Now()
		c, err := net.DialTimeout("tcp", address, 10*time.Second)
		if err != nil {
			t.Error(err)
			return 0
		}
		connected := time.Since(began)
		defer func() { _ = c.Close() }()
		_, _ = c.Write([]byte("question\n"))
		_, _ = c.Read(make([]byte, 100))
		return connected
	}
	waitFor(t, "the server is known", func() bool { ask(); return o.hasResource(key) })
	time.Sleep(1500 * time.Millisecond) // its socket was read
	_, _ = io.WriteString(accept, "stop\n")
	time.Sleep(500 * time.Millisecond)
	from := nextTick()
	took := make(chan time.Duration, 9)
	for range 9 {
		go func() { took <- ask() }()
	}
	time.Sleep(500 * time.Millisecond)
	_, _ = io.WriteString(accept, "go\n")
	late := 0.0
	for range 9 {
		if <-took > 900*time.Millisecond {
			late++
		}
	}
	time.Sleep(settle)
	o.stop()
	if late == 0 {
		t.Fatal("no client waited for its connection")
	}
	most := 0.0
	for _, p := range o.series(key, catalogue.AcceptQueue) {
		most = max(most, p.value)
	}
	opened, drops := o.sum(key, catalogue.ConnectionsOpened, from), o.sum(key, catalogue.ListenDrops, from)
	// The kernel checks whether the queue is full before it adds a connection: handshakes that end at the same time on
	// several CPUs can each find the last place free.
	if most < 3 || most > float64(2+runtime.NumCPU()) || opened != 9 || drops < late {
		t.Errorf("at most %v waited, %v connections, %v drops while %v clients waited", most, opened, drops, late)
	}
	if limit := o.fact(key, "tcp.accept_limit"); limit != "2" {
		t.Errorf("the limit is %q", limit)
	}
	if o.fact(key, "tcp.somaxconn") == "" || o.fact(key, "tcp.listeners") != "1" {
		t.Error("facts are missing")
	}
	if triggersOf(o, key, "listen_drop") == 0 {
		t.Error("no trigger")
	}
}

// saysWhen is a server that answers each number with the time, in nanoseconds, in so many bytes.
const saysWhen = `
import socket, sys, time
host, port = sys.argv[1].rsplit(":", 1)
s = socket.create_server((host, int(port)))
print("ready", flush=True)
c = s.accept()[0]
while size := c.recv(100):
    c.sendall(b"%-*d" % (int(size), time.time_ns()))
`

// resending is a server under observation whose client can lose what it sends.
type resending struct {
	t      *testing.T
	client *net.TCPConn
	o      *observer
	key    string
	from   time.Time
}

func startResending(t *testing.T, size int) *resending {
	t.Helper()
	address := freeAddress(t, "127.0.0.1")
	server, _ := startPython(t, saysWhen, address)
	o := observe(t, requestSources)
	o.needs("tcp_requests")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := &resending{t: t, client: c.(*net.TCPConn), o: o, key: serverKey(t, server.Process.Pid, address)}
	waitFor(t, "the server is known", func() bool { r.ask(size); return o.hasResource(r.key) })
	time.Sleep(500 * time.Millisecond)
	r.from = nextTick()
	for range 20 {
		r.ask(size)
		time.Sleep(10 * time.Millisecond)
	}
	return r
}

// ask returns how long the answer was under way: on a busy machine, a server might begin late.
func (r *resending) ask(size int) time.Duration {
	r.t.Helper()
	_, _ = fmt.Fprintln(r.client, size)
	answer := make([]byte, size)
	_, err := io.ReadFull(r.client, answer)
	arrived := time.Now()
	sent, parseErr := strconv.ParseInt(strings.TrimSpace(string(answer)), 10, 64)
	if err := errors.Join(err, parseErr); err != nil {
		r.t.Fatal(err)
	}
	return arrived.Sub(time.Unix(0, sent))
}

// lose loses data of an answer, and returns how long it was under way.
func (r *resending) lose(segments int64, size int) time.Duration {
	r.t.Helper()
	loseData(r.t, r.client, segments)
	late := r.ask(size)
	r.ask(size)
	time.Sleep(settle)
	r.o.stop()
	return late
}

// TestDataAreSentAgain: a client drops an answer and its first retransmission, like a lossy path.
func TestDataAreSentAgain(t *testing.T) {
	t.Parallel()
	const size = 100
	r := startResending(t, size)
	late := r.lose(2, size)
	resent := r.o.sum(r.key, catalogue.Retransmits, r.from)
	delay, count := r.o.quantile(r.key, catalogue.RetransmitDelayUS, r.from, 1)
	want := float64(late.Microseconds())
	if resent != 2 || count != 1 || delay < 0.9*want || delay > 1.05*want {
		t.Errorf("%v segments again, %d delays, the longest %.0f us; the answer took %.0f us", resent, count, delay, want)
	}
	if _, count := r.o.quantile(r.key, catalogue.FastRetransmitDelayUS, r.from, 1); count != 0 {
		t.Errorf("%d answers did not wait for a timer", count)
	}
	if triggersOf(r.o, r.key, "retransmission") == 0 {
		t.Error("no trigger")
	}
}

// TestDataAreSentAgainAtOnce: a client drops the beginning of an answer of several segments, and receives the rest.
func TestDataAreSentAgainAtOnce(t *testing.T) {
	t.Parallel()
	const size = 400_000 // a segment on loopback has up to 64 KiB
	r := startResending(t, size)
	late := r.lose(1, size)
	delay, count := r.o.quantile(r.key, catalogue.FastRetransmitDelayUS, r.from, 1)
	if count != 1 || delay > 1.05*float64(late.Microseconds()) {
		t.Errorf("%d delays, the longest %.0f us; the answer took %.0f us", count, delay, float64(late.Microseconds()))
	}
	if _, count := r.o.quantile(r.key, catalogue.RetransmitDelayUS, r.from, 1); count != 0 {
		t.Errorf("%d answers waited for a timer", count)
	}
}

// loseData makes a socket drop the next incoming segments that carry data.
func loseData(t *testing.T, c *net.TCPConn, segments int64) {
	t.Helper()
	left, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = left.Close() })
	if err := left.Put(uint32(0), segments); err != nil {
		t.Fatal(err)
	}
	// The filter sees a segment from its TCP header on, whose length is in the upper half of byte 12, in words.
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R7, asm.R6, 0, asm.Word), // skb->len
		asm.LoadAbs(12, asm.Byte),
		asm.RSh.Imm(asm.R0, 4),
		asm.LSh.Imm(asm.R0, 2),
		asm.JGE.Reg(asm.R0, asm.R7, "keep"),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, left.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "keep"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "keep"),
		asm.Sub.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
		asm.Mov.Reg(asm.R0, asm.R7).WithSymbol("keep"),
		asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var attached error
	err = raw.Control(func(fd uintptr) {
		attached = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_BPF, program.FD())
	})
	if err := errors.Join(err, attached); err != nil {
		t.Fatal(err)
	}
}

// startPython runs a script that prints when it is ready, and returns its standard input and output.
func startPython(t *testing.T, script, address string) (*exec.Cmd, io.ReadWriter) {
	t.Helper()
	command := exec.Command("python3", "-c", script, address)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	ready := make([]byte, 6)
	if _, err := io.ReadFull(stdout, ready); err != nil || !strings.HasPrefix(string(ready), "ready") {
		t.Fatalf("%q, %v", ready, err)
	}
	return command, struct {
		io.Reader
		io.Writer
	}{stdout, stdin}
}
