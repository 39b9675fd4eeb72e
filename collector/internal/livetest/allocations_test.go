package livetest

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/all"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// TestTickUnderLoadDoesNotAllocate samples a server under load from packets, probes and socket programs, and counts
// every allocation of the process. Server and client are separate processes; next to them a dnsmasq has more TCP
// connections than it serves.
func TestTickUnderLoadDoesNotAllocate(t *testing.T) {
	server := freeAddress(t, "127.0.0.1")
	startServer(t, nil, buildDNSServer(t), server)
	full := freeAddress(t, "127.0.0.1")
	startDnsmasq(t, nil, full, server)
	waitFor(t, "dnsmasq listens", func() bool {
		c, err := net.Dial("tcp", full)
		return err == nil && c.Close() == nil
	})
	load := filepath.Join(t.TempDir(), "load")
	if out, err := exec.Command("go", "build", "-o", load, "../../cmd/jitterscope-load").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	engine, settled := engineOf(t, "blocked", "coredns_metrics", "dns_capture", "dns_errors", "dns_names", "dns_path_split", "dns_settings", "dns_tcp",
		"dnsmasq_counters", "go_runtime", "process", "process_children", "resolv_conf", "process_memory", "run_delay", "udp_socket")
	connect(t, full, 35)
	settled()
	command := exec.Command(load, "-server", server, "-qps", "2000", "-seconds", "30", "-names", "a.example,nxdomain.,delay-30.",
		"-out", filepath.Join(t.TempDir(), "out"))
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()

	countAllocations(t, engine)
	queries := 0.0
	engine.EachCounter(func(source, name string, value float64) {
		if source == "dns_capture" && name == "packets_total" {
			queries = value / 2
		}
	})
	if queries < 2000 {
		t.Errorf("only %v queries were seen in the test", queries)
	}
}

// TestTickWithRequestsDoesNotAllocate does the same with two web servers under load, one of which is slow. Their client
// runs in their cgroup, so that its calls are timed too.
func TestTickWithRequestsDoesNotAllocate(t *testing.T) {
	const load = `import socket,sys
s=socket.create_connection(sys.argv[1].rsplit(":",1))
while True:
    s.sendall(b"GET /?sleep="+sys.argv[2].encode()+b" HTTP/1.1\r\nHost: x\r\n\r\n")
    if not s.recv(4096):
        break
`
	binary := buildWebServer(t)
	group, _ := cgroupFor(t, -1)
	for _, sleep := range []string{"0", "25ms"} {
		address := freeAddress(t, "127.0.0.1")
		startServer(t, inCgroup(group), binary, address)
		line := append(inCgroup(group), "python3", "-c", load, address, sleep)
		command := exec.Command(line[0], line[1:]...)
		if err := deathsig.Start(command); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	}
	engine, settled := engineOf(t, "tcp_requests", "cgroup_cpu")
	finished := func(what string) (count float64) {
		engine.EachCounter(func(_, name string, value float64) {
			if name == what {
				count = value
			}
		})
		return count
	}
	tick := engine.Ticker()
	waitFor(t, "requests are seen", func() bool { tick(); return finished("requests_total") > 0 })
	waitFor(t, "calls are seen", func() bool { tick(); return finished("calls_total") > 0 })
	time.Sleep(time.Second) // the servers and upstreams have series
	settled()
	for _, what := range []string{"requests_total", "calls_total"} {
		before := finished(what)
		countAllocations(t, engine)
		if seen := finished(what) - before; seen < 200 {
			t.Errorf("only %v more %s in the test", seen, what)
		}
	}
}

// engineOf returns an engine with these sources after discovery; settled ends what they do besides the ticks.
func engineOf(t *testing.T, names ...string) (engine *sampler.Engine, settled func()) {
	t.Helper()
	store, _, err := batch.Open(t.TempDir(), [16]byte{1}, 1, "node")
	if err != nil {
		t.Fatal(err)
	}
	store.Start(time.Now().UnixMicro() / batch.StepUS)
	sources, err := source.New(func(name string) bool { return slices.Contains(names, name) })
	if err != nil {
		t.Fatal(err)
	}
	engine = sampler.New(sampler.Config{
		Roots: sampler.Roots{Cgroup: "/sys/fs/cgroup", Proc: "/proc", Sys: "/sys"}, Store: store,
		Sources: sources, Log: slog.New(slog.DiscardHandler),
		Sealed: func(sealed *batch.Sealed) { sealed.Release() },
	})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	if err := engine.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	for _, status := range engine.Status() {
		if status.Needs != "" {
			testenv.Skip(t, "%s: %s; needs %s", status.Name, status.Detail, status.Needs)
		}
	}
	return engine, cancel
}

// countAllocations samples ticks under load and counts every allocation of the process.
func countAllocations(t *testing.T, engine *sampler.Engine) {
	t.Helper()
	runtime.LockOSThread() // as the sampling thread: it ends with its priority
	priority.Raise()
	tick := engine.Ticker()
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	for range 20 {
		<-pace.C
		tick()
	}
	var before, after runtime.MemStats
	allocations := uint64(1 << 63)
	// The runtime itself allocates occasionally; allocations of a tick occur every time.
	for attempt := 0; attempt < 10 && allocations > 0; attempt++ {
		runtime.ReadMemStats(&before)
		for range 20 {
			<-pace.C
			tick()
		}
		runtime.ReadMemStats(&after)
		allocations = min(allocations, after.Mallocs-before.Mallocs)
	}
	if allocations != 0 {
		t.Errorf("at least %d allocations in 20 ticks", allocations)
	}
}
