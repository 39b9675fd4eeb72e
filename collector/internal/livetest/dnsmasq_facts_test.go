package livetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
)

// TestDnsmasqTellsWhatItIs reads settings and counters of a real dnsmasq.
func TestDnsmasqTellsWhatItIs(t *testing.T) {
	t.Parallel()
	upstream, server := freeAddress(t, "127.0.0.1"), freeAddress(t, "127.0.0.1")
	startServer(t, nil, buildDNSServer(t), upstream)
	startDnsmasq(t, nil, server, upstream, "--max-tcp-connections=50", "--server=/corp.example/10.1.2.3")
	o := observe(t, tcpSources+",dns_settings,dnsmasq_counters")
	o.needs("dnsmasq_counters")
	waitFor(t, "its version", func() bool { return o.fact(server, "dns.version") == "2.90" })
	host, port := split(t, upstream)
	for name, want := range map[string]string{
		"dns.child_limit": "50", "dns.negative_cache": "no", "dns.software": "dnsmasq",
		"dns.upstreams": fmt.Sprintf(`[{"zone":".","address":"%s","port":%s},{"zone":"corp.example","address":"10.1.2.3","port":53}]`, host, port),
	} {
		if got := o.fact(server, name); got != want {
			t.Errorf("%s is %q instead of %q", name, got, want)
		}
	}
	from := time.Now()
	for i := range 7 { // TCP: by children
		ask(t, "tcp", server, fmt.Sprintf("t%d.example.", i))
	}
	for i := range 5 { // by the main process
		ask(t, "udp", server, fmt.Sprintf("u%d.example.", i))
	}
	waitFor(t, "what it counted", func() bool { return len(o.series(server, catalogue.DnsmasqCacheMisses)) > 0 })
	hits, misses := o.sum(server, catalogue.DnsmasqCacheHits, from), o.sum(server, catalogue.DnsmasqCacheMisses, from)
	// Its own questions are subtracted; another collector on this machine would send three at first and two every 10 s.
	if hits > 6 || misses != 5 {
		t.Errorf("%v hits and %v misses; 5 names were asked for over UDP, each for the first time", hits, misses)
	}
}

// TestGuardianIsNotTheServer has a process with the server's name start the server, as a guardian does: the child is
// the one that serves, and the one that is watched.
func TestGuardianIsNotTheServer(t *testing.T) {
	t.Parallel()
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	guardian := filepath.Join(t.TempDir(), "unbound")
	if err := os.WriteFile(guardian, shell, 0o755); err != nil {
		t.Fatal(err)
	}
	server := freeAddress(t, "127.0.0.1")
	parent := startServer(t, []string{guardian, "-c", `"$@"; true`, "sh"}, buildDNSServer(t), server)
	o := observe(t, tcpSources)
	o.needs("dns_tcp")
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
	if process := o.processOf(server); process == "" || isOf(process, parent.Process.Pid) {
		t.Errorf("the server is below %q; %d is its guardian", process, parent.Process.Pid)
	}
}
