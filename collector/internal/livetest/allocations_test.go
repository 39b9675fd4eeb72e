package livetest

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
	_ "github.com/jitterscope/jitterscope/collector/internal/source/all"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// TestTickUnderLoadDoesNotAllocate samples a server under load from packets, probes and socket programs, and counts every
// allocation of the process. Server and client are processes of their own; beside them a dnsmasq has more TCP connections than it
// serves.
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
	store, _, err := batch.Open(t.TempDir(), [16]byte{1}, 1, "node")
	if err != nil {
		t.Fatal(err)
	}
	store.Start(time.Now().UnixMicro() / batch.StepUS)
	wanted := map[string]bool{
		"coredns_metrics": true, "dns_capture": true, "dns_errors": true, "dns_names": true, "dns_path_split": true, "dns_settings": true,
		"dns_tcp": true, "dnsmasq_counters": true, "go_runtime": true, "process": true, "process_children": true, "resolv_conf": true,
		"process_memory": true, "run_delay": true, "udp_socket": true,
	}
	sources, err := source.New(func(name string) bool { return wanted[name] })
	if err != nil {
		t.Fatal(err)
	}
	engine := sampler.New(sampler.Config{
		Roots: sampler.Roots{Cgroup: "/sys/fs/cgroup", Proc: "/proc", Sys: "/sys"}, Store: store,
		Sources: sources, Log: slog.New(slog.DiscardHandler),
		Sealed: func(sealed *batch.Sealed) { sealed.Release() },
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := engine.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	for _, status := range engine.Status() {
		if status.Needs != "" {
			testenv.Skip(t, "%s: %s; needs %s", status.Name, status.Detail, status.Needs)
		}
	}
	connect(t, full, 35)
	cancel() // ends what the sources do beside the ticks
	command := exec.Command(load, "-server", server, "-qps", "2000", "-seconds", "30", "-names", "a.example,nxdomain.,delay-30.",
		"-out", filepath.Join(t.TempDir(), "out"))
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()

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
	// The runtime itself allocates now and then; what a tick allocates is there each time.
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
