package livetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// TestErrorsInAContainersLog runs a server in a cgroup named as the kubelet does, with its log where the kubelet keeps
// it.
func TestErrorsInAContainersLog(t *testing.T) {
	t.Parallel()
	const podUID = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	id := strings.Repeat("4d5e6f01", 8)
	top, path := cgroupFor(t, 100_000)
	directory := filepath.Join(top, "kubepods", "pod"+podUID, id)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for at := directory; at != top; at = filepath.Dir(at) {
			for range 50 { // the server ends first
				if os.Remove(at) == nil {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	})
	root := t.TempDir()
	logs := filepath.Join(root, "var/log/pods/kube-system_node-local-dns-7vqpp_"+podUID, "node-cache")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(logs, "0.log")
	config := filepath.Join(root, "collector.toml")
	for file, text := range map[string]string{
		log:    fmt.Sprintf("%s stderr F [ERROR] plugin/errors: 2 history. A: i/o timeout\n", time.Now().Format(time.RFC3339Nano)),
		config: fmt.Sprintf("[sources.dns_errors]\nroots = [%q]\n", root),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := freeAddress(t, "127.0.0.1")
	startServer(t, inCgroup(directory), buildDNSServer(t), server)
	o := observe(t, "cgroup_cpu,dns_errors,"+dnsSources, "-config", config)
	o.needs("dns_capture")
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
	time.Sleep(time.Second)

	written := time.Now()
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for range 40 {
		if _, err := fmt.Fprintf(file, "%s stderr F [ERROR] plugin/errors: 2 archive.ubuntu.com.some-namespace.svc.cluster.local. A: dial tcp 172.18.165.130:53: i/o timeout\n",
			time.Now().Format(time.RFC3339Nano)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	lines := func() (count int) {
		for _, event := range o.events(server, "dns.error") {
			n := 0
			_, _ = fmt.Sscan(event.Attributes["count"], &n)
			count += n
		}
		return count
	}
	waitFor(t, "all lines are counted", func() bool { return lines() >= 40 })
	o.stop()

	events := o.events(server, "dns.error")
	if lines() != 40 || len(events) < 2 || len(events) > 5 {
		t.Errorf("%d lines of 40 in %d events", lines(), len(events))
	}
	first := events[0]
	if off := first.StartUs - written.UnixMicro(); off < -1000 || off > 100_000 || first.Attributes["upstream"] != "172.18.165.130:53" ||
		first.Attributes["name"] != "archive.ubuntu.com.some-namespace.svc.cluster.local." {
		t.Errorf("%v, %d us after it was written", first, off)
	}
	triggers := 0
	o.each(func(b *ingestpb.Batch) {
		for _, trigger := range b.Triggers {
			if trigger.Reason == "dns_error" && strings.HasPrefix(b.Resources[trigger.Resource].Key, path) {
				triggers++
			}
		}
	})
	if triggers != 1 { // not one per second
		t.Errorf("%d triggers", triggers)
	}
}
