package dns

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestDNSErrors has a server write to a file that is its standard output.
func TestDNSErrors(t *testing.T) {
	proc := t.TempDir()
	pid, output := sourcetest.AddProcess(t, proc, "coredns", "/")
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(output, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("[ERROR] plugin/errors: 2 old. A: read udp 10.0.0.1:1->10.0.0.2:53: i/o timeout\n")
	server := &oneServer{process: procwatch.Process{PID: pid, DNS: "coredns", Cgroup: "/"}}
	d := &dnsErrors{}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{server, d}})
	r.Eventually("the log is found", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, log := range d.logs {
			return len(log.files) == 1
		}
		return false
	})
	write("[INFO] nothing\n[ERROR] plugin/errors: 2 a.example. A: read udp 10.0.0.1:1->10.0.0.2:53: i/o timeout\n")
	events := func() []map[string]string { return r.Events(serverKey, "dns.error") }
	r.Eventually("an event", func() bool { return len(events()) > 0 })
	got := events()[0]
	if got["kind"] != "io_timeout" || got["count"] != strconv.Itoa(1) || got["upstream"] != "10.0.0.2:53" || got["name"] != "a.example." {
		t.Errorf("%v", got)
	}
	if got := r.Triggers(serverKey); !slices.Contains(got, "dns_error") {
		t.Errorf("triggers %v", got)
	}
	needsNothing(t, r.Status("dns_errors"))
}
