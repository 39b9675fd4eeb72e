package dnslog

import (
	"strings"
	"testing"
)

// The first line is quoted in "GKE, NodeLocal DNSCache and kube-dns" (Signicat, 2023); the others are what the programs write:
// CoreDNS 1.12 (plugin/errors, plugin/forward, core/dnsserver), dnsmasq 2.90 (forward.c), kube-dns's nanny, BIND, unbound.
var lines = []struct {
	line, kind     string
	count          int
	upstream, name string
}{
	{"[ERROR] plugin/errors: 2 archive.ubuntu.com.some-namespace.svc.cluster.local. A: dial tcp 172.18.165.130:53: i/o timeout",
		"io_timeout", 1, "172.18.165.130:53", "archive.ubuntu.com.some-namespace.svc.cluster.local."},
	{"2021-03-01T10:00:00.123Z [ERROR] plugin/errors: 2 a.example. AAAA: read udp 10.4.0.3:55353->172.20.1.38:53: i/o timeout",
		"io_timeout", 1, "172.20.1.38:53", "a.example."},
	{"[ERROR] plugin/errors: 2 a.example. A: read tcp [fd00::3]:55353->[fd00::a]:53: i/o timeout", "io_timeout", 1, "[fd00::a]:53", "a.example."},
	{"[ERROR] plugin/errors: 2 a.example. A: dial tcp 10.0.0.1:53: connect: connection refused", "connection_refused", 1, "10.0.0.1:53", "a.example."},
	{"[ERROR] plugin/errors: 2 a.example. A: dial udp 10.0.0.1:53: connect: network is unreachable", "unreachable", 1, "10.0.0.1:53", "a.example."},
	{"[ERROR] plugin/errors: 2 a.example. A: dial tcp 10.0.0.1:53: connect: no route to host", "unreachable", 1, "10.0.0.1:53", "a.example."},
	{"[ERROR] plugin/errors: 5 a.example. A: concurrent queries exceeded maximum 1000", "too_many_connections", 1, "", "a.example."},
	{"[ERROR] plugin/errors: 41 errors like '^.*i/o timeout$' occurred in last 30s", "io_timeout", 41, "", ""},
	{"[ERROR] Recovered from panic in server: \"dns://:53\" runtime error: index out of range", "panic", 1, "", ""},
	{"panic: runtime error: invalid memory address or nil pointer dereference", "panic", 1, "", ""},
	{"[ERROR] plugin/errors: 2 a.example. A: tls: failed to verify certificate", "other", 1, "", "a.example."},
	{"[FATAL] plugin/loop: Loop (127.0.0.1:36412 -> :53) detected for zone \".\"", "other", 1, "", ""},
	{"dnsmasq[12]: Maximum number of concurrent DNS queries reached (max: 150)", "too_many_connections", 1, "", ""},
	{"I1010 08:02:36.571446       1 nanny.go:146] dnsmasq[4811]: Maximum number of concurrent DNS queries reached (max: 150)",
		"too_many_connections", 1, "", ""},
	{"I1010 08:02:36.571446       1 nanny.go:146] dnsmasq[4811]: nameserver 10.0.0.1 refused to do a recursive query", "other", 1, "10.0.0.1:53", ""},
	{"E1010 08:02:36.571446       1 reflector.go:125] Get \"https://10.0.0.1:443/api\": dial tcp 10.0.0.1:443: i/o timeout",
		"io_timeout", 1, "10.0.0.1:443", ""},
	{"01-Jan-2026 10:00:00.000 lame-servers: info: error (connection refused) resolving 'a.example/A/IN': 192.0.2.1#53",
		"connection_refused", 1, "192.0.2.1:53", "a.example"},
	{"01-Jan-2026 10:00:00.000 lame-servers: info: timed out resolving 'a.example/A/IN': 2001:db8::1#53", "io_timeout", 1, "[2001:db8::1]:53", "a.example"},
	{"[1700000000] unbound[9:0] error: can't bind socket: Address already in use", "other", 1, "", ""},
}

func TestErrorLines(t *testing.T) {
	for _, c := range lines {
		kind, count, ok := Classify([]byte(c.line))
		if !ok || KindNames[kind] != c.kind || count != c.count {
			t.Errorf("%s: %v %s %d", c.line, ok, KindNames[kind], count)
		}
		if d := Describe([]byte(c.line)); d.Upstream != c.upstream || d.Name != c.name || d.Line != c.line {
			t.Errorf("%s: %+v", c.line, d)
		}
	}
}

func TestOrdinaryLinesAreNoErrors(t *testing.T) {
	for _, line := range []string{
		`[INFO] 10.0.0.83:40000 - 4711 "A IN error.example. udp 50 false 512" NOERROR qr,rd,ra 80 0.0002s`,
		`[INFO] 10.0.0.83:40000 - 4711 "A IN panic.example. udp 50 false 512" - - 0 2.0s`,
		`[INFO] 10.0.0.83:40000 - 4711 "A IN timed out resolving '. udp 50 false 512" NXDOMAIN qr,rd,ra 80 0.0002s`,
		`[WARNING] plugin/kubernetes: starting server with unsynced Kubernetes API`,
		"CoreDNS-1.12.0", "linux/amd64, go1.23.3, 51e11f1", ".:53", "",
		"I1010 08:02:36.571446       1 nanny.go:146] dnsmasq[4811]: 315207 10.0.0.83/56382 reply metadata.google.internal.cluster.local is NXDOMAIN",
		"I1010 08:02:36.571446       1 nanny.go:146] dnsmasq[4811]: using nameserver 127.0.0.1#10053 for domain cluster.local",
		"dnsmasq[1]: query[A] timed.out from 10.0.0.1", "[1700000000] unbound[9:0] info: start of service",
	} {
		if kind, _, ok := Classify([]byte(line)); ok {
			t.Errorf("%q is %s", line, KindNames[kind])
		}
	}
}

func TestSecretsDoNotLeave(t *testing.T) {
	for _, line := range []string{
		"[ERROR] plugin/etcd: Get http://root:hunter2@10.0.0.1:2379/v2: dial tcp 10.0.0.1:2379: i/o timeout",
		"[ERROR] plugin/route53: aws_secret_access_key=hunter2 is refused",
		`[ERROR] plugin/azure: {"client_secret":"hunter2"} is refused`,
		"[ERROR] plugin/kubernetes: request with Authorization: Bearer hunter2hunter2.x-y failed",
		"[ERROR] plugin/x: password: hunter2, token = 'hunter2'",
	} {
		if d := Describe([]byte(line)); strings.Contains(d.Line, "hunter2") || !strings.Contains(d.Line, "REDACTED") {
			t.Errorf("%s", d.Line)
		}
	}
	if d := Describe([]byte("[ERROR] " + strings.Repeat("x", 100_000))); len(d.Line) > maxLine+10 {
		t.Errorf("a line of %d bytes", len(d.Line))
	}
}

func FuzzClassify(f *testing.F) {
	for _, c := range lines {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var unwrapper Unwrapper
		text, _, whole := unwrapper.Unwrap(line)
		if _, count, ok := Classify(text); ok && (!whole || count < 1) {
			t.Errorf("%q: %d", line, count)
		}
		if d := Describe(text); len(d.Line) > maxLine+len("…") {
			t.Errorf("%q: a line of %d bytes", line, len(d.Line))
		}
	})
}
