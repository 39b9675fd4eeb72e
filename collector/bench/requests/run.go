package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/bench/alternating"
	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/requests"
)

const (
	tick        = 100 * time.Millisecond
	choosing    = 2500 * time.Millisecond // after which the observer has chosen which part of the requests it times
	settling    = 5 * time.Millisecond    // after which the programs have been switched, and the caches know them
	connections = 32
	steadyFor   = 5 * time.Second
	mostFor     = 5 * time.Second
)

// observer is the source at work.
type observer struct {
	programs *requests.Programs
	tracker  *requests.Tracker
	detached bool
}

// attach lets the programs see what happens, or not.
func (o *observer) attach(on bool) error {
	if on == !o.detached {
		return nil
	}
	o.detached = !on
	if on {
		return o.programs.Attach()
	}
	return o.programs.Detach()
}

// discard takes what is recorded.
type discard struct{ answers float64 }

func (*discard) SetAt(int, batch.Slot, float64)          {}
func (*discard) Trigger(batch.ResourceID, string, int64) {}
func (*discard) Throttled([]batch.Slot) bool             { return false }
func (d *discard) Distribution(_ int, _ batch.ResourceID, _ uint32, h *batch.Histogram) {
	d.answers += float64(h.Total()) / 2 // latency and wait
}

func observe(server netip.AddrPort) (*observer, error) {
	namespace, err := netns.ID("/proc", "self")
	if err != nil {
		return nil, err
	}
	programs, err := requests.Open(true, true)
	if err != nil {
		return nil, err
	}
	o := &observer{programs: programs, tracker: requests.NewTracker(programs, true)}
	watched, err := o.tracker.Add()
	if err != nil {
		return nil, errors.Join(err, programs.Close())
	}
	slot := batch.Slot(0)
	o.tracker.Time(watched, 1, func(batch.ResourceID, uint32) batch.Slot { slot++; return slot })
	endpoint := requests.Endpoint{Namespace: namespace, Endpoint: dnswire.Endpoint{Address: server.Addr().As16(), Port: server.Port()}}
	if err := o.tracker.SetEndpoints(map[requests.Endpoint]*requests.Server{endpoint: watched}); err != nil {
		return nil, errors.Join(err, programs.Close())
	}
	return o, nil
}

// sample ticks for a while, and returns the CPU time that it took and the answers that it timed.
func (o *observer) sample(duration time.Duration) (time.Duration, float64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var into discard
	before := alternating.ThreadTime()
	started := time.Now()
	for at := started.Add(tick); !at.After(started.Add(duration)); at = at.Add(tick) {
		time.Sleep(time.Until(at))
		o.tracker.Sample(time.Now().UnixMicro(), 0, &into)
	}
	return alternating.ThreadTime() - before, into.answers
}

// server is a running server under load.
type server struct {
	command *exec.Cmd
	load    *load
}

// start runs a server: of HTTP, or a Valkey.
func start(kind, valkey, directory string) (s *server, address netip.AddrPort, err error) {
	if address, err = freePort(); err != nil {
		return nil, address, err
	}
	s = &server{}
	request := "GET / HTTP/1.1\r\nHost: bench\r\n\r\n"
	if kind == "valkey" {
		request = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"
		s.command = exec.Command(valkey, "--port", strconv.Itoa(int(address.Port())), "--bind", "127.0.0.1", "--save", "", "--dir", directory)
	} else {
		binary := directory + "/webserver"
		if out, err := exec.Command("go", "build", "-o", binary, "./internal/livetest/testdata/webserver").CombinedOutput(); err != nil {
			return nil, address, fmt.Errorf("%w: %s", err, out)
		}
		s.command = exec.Command(binary, address.String())
		if _, err = s.command.StdinPipe(); err != nil { // it ends with its input
			return nil, address, err
		}
		s.command.Env = append(os.Environ(), "GOMAXPROCS=1") // it has one CPU
	}
	if err = alternating.OnLastCPU(s.command.Start); err != nil {
		return nil, address, err
	}
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		if s.load, err = connect(address, connections, request); err == nil {
			return s, address, nil
		}
	}
	s.stop()
	return nil, address, err
}

func (s *server) stop() {
	if s.load != nil {
		s.load.close()
	}
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}

func run(kind, valkey string, rate float64, pairs int, window time.Duration) (r result, err error) {
	directory, err := os.MkdirTemp("", "jitterscope-requests-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	s, address, err := start(kind, valkey, directory)
	if err != nil {
		return r, err
	}
	defer s.stop()
	o, err := observe(address)
	if err != nil {
		return r, err
	}
	defer func() { _ = o.programs.Close() }()
	m := &measurement{server: s, observer: o, window: window}
	stop := s.load.start(rate)
	err = m.compare(pairs)
	stop()
	if err != nil {
		return r, err
	}
	c := alternating.Compare(m.off, m.on)
	r = result{
		Server: kind, RequestsPerSecond: m.answered / m.elapsed.Seconds(), Windows: len(m.on) + len(m.off), OffUS: c.Off, OnUS: c.On,
		AddedRatio: c.Added, AddedLow: c.Low, AddedHigh: c.High, Collector: m.observing.Seconds() / steadyFor.Seconds(),
	}
	return r, m.most(&r)
}

type measurement struct {
	server    *server
	observer  *observer
	window    time.Duration
	off, on   []float64 // CPU microseconds per request of each window
	answered  float64
	elapsed   time.Duration
	observing time.Duration // CPU time of the observer in steadyFor
}

// compare measures pairs of windows. What else the host does changes the CPU time per request by a tenth several times a second, so
// windows are short, and the programs stay loaded: they are attached and detached.
func (m *measurement) compare(pairs int) error {
	m.observer.sample(choosing)
	m.observing, _ = m.observer.sample(steadyFor)
	sampled := time.Now()
	for pair := range pairs {
		// Off-on, then on-off: a drift does not favour either.
		for _, on := range []bool{pair%2 == 1, pair%2 == 0} {
			if err := m.measure(on); err != nil {
				return err
			}
		}
		// After a longer break the tracker keeps to the part that it has chosen. It would take half of the requests for the rate.
		if time.Since(sampled) > choosing {
			m.observer.tracker.Sample(time.Now().UnixMicro(), 0, &discard{})
			sampled = time.Now()
		}
	}
	return m.observer.attach(true)
}

func (m *measurement) measure(on bool) error {
	if err := m.observer.attach(on); err != nil {
		return err
	}
	time.Sleep(settling)
	pid := m.server.command.Process.Pid
	cpu, err := alternating.ProcessTime(pid)
	if err != nil {
		return err
	}
	answered, started := m.server.load.answered.Load(), time.Now()
	time.Sleep(m.window)
	after, err := alternating.ProcessTime(pid)
	if err != nil {
		return err
	}
	answers := float64(m.server.load.answered.Load() - answered)
	if answers == 0 {
		return fmt.Errorf("no answer within %v: measure with longer windows", m.window)
	}
	m.answered += answers
	m.elapsed += time.Since(started)
	cost := float64((after - cpu).Nanoseconds()) / 1000 / answers
	if on {
		m.on = append(m.on, cost)
	} else {
		m.off = append(m.off, cost)
	}
	return nil
}

// most asks as fast as the server answers.
func (m *measurement) most(r *result) error {
	o := m.observer
	stop := m.server.load.start(0)
	defer stop()
	o.sample(choosing) // what came before the window
	packetsBefore, err := loopbackPackets()
	if err != nil {
		return err
	}
	answered, started := m.server.load.answered.Load(), time.Now()
	used, seen := o.sample(mostFor)
	elapsed := time.Since(started).Seconds()
	packetsAfter, err := loopbackPackets()
	if err != nil {
		return err
	}
	answers := float64(m.server.load.answered.Load() - answered)
	r.MostRequests, r.MostPackets, r.MostCollector = answers/elapsed, (packetsAfter-packetsBefore)/elapsed, used.Seconds()/elapsed
	// Two packets a request: what the machine sends besides over loopback is not for this server.
	r.CollectorAt = r.MostCollector * packets / (2 * r.MostRequests)
	r.Seen = seen / answers
	r.ProgramNS, err = o.programs.RunTimes(2 * time.Second)
	return err
}

// loopbackPackets reads how many packets went over loopback.
func loopbackPackets() (float64, error) {
	text, err := os.ReadFile("/sys/class/net/lo/statistics/rx_packets")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
}
