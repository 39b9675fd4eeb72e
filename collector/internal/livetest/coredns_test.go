package livetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/testenv"
)

// coredns returns the CoreDNS that the labs use, building it into their cache at first use.
func coredns(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("JITTERSCOPE_COREDNS"); given != "" {
		return given
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	installed := filepath.Join(cache, "jitterscope", "bin", "coredns-v1.12.0")
	if _, err := os.Stat(installed); err == nil {
		return installed
	}
	building := t.TempDir()
	install := exec.Command("go", "install", "github.com/coredns/coredns@v1.12.0")
	install.Env = append(os.Environ(), "GOBIN="+building, "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := install.CombinedOutput(); err != nil {
		testenv.Skip(t, "CoreDNS cannot be built: %v: %s", err, out)
	}
	if err := os.MkdirAll(filepath.Dir(installed), 0o755); err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(filepath.Join(building, "coredns"))
	if err != nil {
		t.Fatal(err)
	}
	part := fmt.Sprintf("%s.%d", installed, os.Getpid())
	if err := os.WriteFile(part, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, installed); err != nil {
		t.Fatal(err)
	}
	return installed
}

// startCoreDNS serves names from memory in a cgroup; environment is added.
func startCoreDNS(t testing.TB, cgroup, address string, names int, environment ...string) *exec.Cmd {
	t.Helper()
	directory := t.TempDir()
	var hosts strings.Builder
	for i := range names {
		fmt.Fprintf(&hosts, "10.%d.%d.%d host%d.example.test\n", i>>16, i>>8&255, i&255, i)
	}
	host, port, _ := strings.Cut(address, ":")
	corefile := fmt.Sprintf("example.test:%s {\n bind %s\n hosts %s/hosts {\n  no_reverse\n }\n prometheus %s\n tsig {\n  secret k. c2VjcmV0\n }\n}\n",
		port, host, directory, freeAddress(t, "127.0.0.1"))
	for name, text := range map[string]string{"hosts": hosts.String(), "Corefile": corefile} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	line := append(inCgroup(cgroup), coredns(t), "-conf", filepath.Join(directory, "Corefile"))
	command := exec.Command(line[0], line[1:]...)
	command.Env = append(os.Environ(), environment...)
	if err := deathsig.Start(command); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command
}

// TestThrottledCoreDNS gives a CoreDNS far too little CPU: its queries wait in the socket while it is throttled, and
// everything that a diagnosis needs is there and consistent.
func TestThrottledCoreDNS(t *testing.T) {
	directory, path := cgroupFor(t, 4_000)
	server := freeAddress(t, "127.0.0.1")
	command := startCoreDNS(t, directory, server, 20_000, "GOMAXPROCS=2", "GOGC=50", "TOP_SECRET=x")
	o := observe(t, "cgroup_cpu,go_runtime,"+dnsSources)
	o.needs("go_runtime")
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
	process := o.parents(server)[1]
	time.Sleep(3 * time.Second)
	from := nextTick()
	flood(t, server, 20)
	for range 150 { // more CPU than the quota
		flood(t, server, 50)
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(2500 * time.Millisecond)
	o.stop()

	if throttled := o.sum(path, catalogue.CPUThrottledPeriods, from); throttled < 3 {
		t.Fatalf("throttled in %v periods only: the test is too gentle", throttled)
	}
	latency, _ := o.quantile(server, catalogue.DNSLatencyUS, from, 0.99)
	wait, count := o.quantile(server, catalogue.DNSQueueWaitUS, from, 0.99)
	// Throttling between reading and answering counts as work, so only part of it shows in the queue. How large a part
	// depends on when Go's scheduler runs the reader; without throttling it is some microseconds.
	if count < 500 || wait < 20_000 || wait > latency {
		t.Errorf("p99 of %d queries: waited %.0f us in the queue of %.0f us altogether", count, wait, latency)
	}
	if got := o.parents(server); len(got) != 4 || got[2] != path || !strings.HasPrefix(got[1], fmt.Sprint(command.Process.Pid, ":")) {
		t.Errorf("the server is below %v", got)
	}
	if cpu := o.sum(process, catalogue.ProcessCPUUS, from); cpu < 50_000 || cpu > 1_000_000 {
		t.Errorf("the process used %v us of CPU", cpu)
	}
	for name, want := range map[string]string{
		"go.env.GOMAXPROCS": "2", "go.env.GOGC": "50", "go.gc_source": "uprobe", "process.affinity_cpus": "*", "go.version": "1.",
		"go.main_module": "github.com/coredns/coredns@v1.12.0", "go.automaxprocs": "v1.", "go.default_godebug": "*", "go.gomaxprocs": "2",
	} {
		if got := o.fact(process, name); got == "" || (want != "*" && !strings.HasPrefix(got, want)) {
			t.Errorf("%s is %q instead of %q", name, got, want)
		}
	}
	if corefile := o.fact(server, "dns.corefile"); !strings.Contains(corefile, "hosts") || strings.Contains(corefile, "c2VjcmV0") {
		t.Errorf("Corefile %q", corefile)
	}
	complete, triggers := 0, 0
	o.each(func(b *ingestpb.Batch) {
		for _, fact := range b.Facts {
			if strings.Contains(fact.Value, "TOP_SECRET") || strings.HasSuffix(fact.Name, "TOP_SECRET") {
				t.Error("an environment variable that is not allow-listed left the machine")
			}
		}
		for _, q := range b.Queries {
			if q.Complete && b.Resources[q.Server].Key == server {
				complete += len(q.OffsetUs)
			}
		}
		for _, trigger := range b.Triggers {
			if trigger.Reason == "slow_query" && b.Resources[trigger.Resource].Key == path {
				triggers++
			}
		}
	})
	if complete < 500 || triggers == 0 {
		t.Errorf("%d queries in complete windows, %d triggers of the cgroup", complete, triggers)
	}
	if live := o.series(process, catalogue.HeapLiveBytes); len(live) == 0 || live[0].value < 1<<20 || live[0].value > 100<<20 {
		t.Errorf("live heap %v", live)
	}
}
