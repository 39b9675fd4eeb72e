package dns

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// corefileOf gives the process of a fake /proc a Corefile.
func corefileOf(t *testing.T, proc, text string) (pid int, path string) {
	t.Helper()
	pid, _ = sourcetest.AddProcess(t, proc, "coredns", "/")
	root := filepath.Join(proc, fmt.Sprint(pid), "root")
	sourcetest.Write(t, root, "etc/coredns/Corefile", text)
	sourcetest.Write(t, proc, fmt.Sprintf("%d/cmdline", pid), "/coredns\x00-conf\x00/etc/coredns/Corefile\x00")
	return pid, filepath.Join(root, "etc/coredns/Corefile")
}

func TestDNSSettings(t *testing.T) {
	proc := t.TempDir()
	pid, _ := corefileOf(t, proc, ". {\n forward . 10.1.0.1 {\n  max_concurrent 1000\n }\n cache 30\n}\n")
	server := &oneServer{process: procwatch.Process{PID: pid, DNS: "coredns"}}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{server, &dnsSettings{}}})
	if got := r.Fact(serverKey, "dns.upstreams"); got != `[{"zone":".","address":"10.1.0.1","port":53,"max_concurrent":1000}]` {
		t.Errorf("upstreams %s", got)
	}
	if got := r.Fact(serverKey, "dns.negative_cache"); got != "yes" {
		t.Errorf("negative cache %q", got)
	}
}

// TestDNSSettingsWithoutPackets: without packets no servers are found.
func TestDNSSettingsWithoutPackets(t *testing.T) {
	r := sourcetest.Start(t, sourcetest.Setup{Sources: []sampler.Source{&dnsSettings{}}})
	if got := r.Status("dns_settings"); got != "OFF: the source dns_capture is off" {
		t.Error(got)
	}
}

// TestCorefileIsStated: both as written and as CoreDNS parses it; the reason why it cannot be parsed is logged once.
func TestCorefileIsStated(t *testing.T) {
	proc := t.TempDir()
	pid, path := corefileOf(t, proc, ". {\n forward . 10.1.0.1\n}\n")
	var log bytes.Buffer
	server := &oneServer{process: procwatch.Process{PID: pid, DNS: "coredns"}}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Log: &log, Sources: []sampler.Source{server}})
	m := newDNSManager(server.registry, dnscapture.NewTracker(), sharedDNS(server.registry), &captures{})
	m.describe(server.server)
	const want = `[{"zones":["."],"plugins":[{"name":"forward","args":[".","10.1.0.1"],"options":[]}]}]`
	if got := r.Fact(serverKey, catalogue.FactDNSCorefileParsed); got != want {
		t.Error(got)
	}
	broken := ". {\n forward . 10.1.0.1\n"
	if err := os.WriteFile(path, []byte(broken), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		m.describe(server.server)
	}
	if text, parsed := r.Fact(serverKey, catalogue.FactDNSCorefile), r.Fact(serverKey, catalogue.FactDNSCorefileParsed); text != broken || parsed != want {
		t.Errorf("%q, %q: CoreDNS goes on with the one before", text, parsed)
	}
	if n := strings.Count(log.String(), "cannot be parsed"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
	m.processesChanged(nil, []*procwatch.Process{&server.process})
	if len(m.unparsed) != 0 {
		t.Error("an ended process is remembered")
	}
}
