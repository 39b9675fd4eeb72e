package dnsservers

import (
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/corefile"
	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

// listenBoth listens on a UDP port and the same TCP port; if that is taken, it tries others.
func listenBoth(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 50 {
		udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if tcp, err := net.Listen("tcp4", udp.LocalAddr().String()); err == nil {
			return udp, tcp
		}
		_ = udp.Close()
	}
	t.Fatal("no port is free for UDP and TCP")
	return nil, nil
}

func TestScanFindsServingSocketsOnly(t *testing.T) {
	udp, tcp := listenBoth(t)
	defer func() { _ = udp.Close() }()
	defer func() { _ = tcp.Close() }()
	served := udp.LocalAddr().(*net.UDPAddr).AddrPort()
	other, err := net.ListenPacket("udp4", "127.0.0.1:0") // sends queries to others
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()

	processes := []*procwatch.Process{{PID: os.Getpid(), DNS: "coredns"}, {PID: os.Getpid()}}
	scanner := NewScanner("/proc")
	defer scanner.Close()
	listeners, err := scanner.Scan(processes)
	if err != nil || len(listeners) != 1 {
		t.Fatalf("%+v, %v", listeners, err)
	}
	l := listeners[0]
	if len(l.Ports) != 1 || l.Ports[0] != served.Port() {
		t.Errorf("ports %v, served %d", l.Ports, served.Port())
	}
	endpoint := dnswire.Endpoint{Address: served.Addr().As16(), Port: served.Port()}
	if !l.Serves(endpoint) {
		t.Error("does not serve its own address")
	}
	endpoint.Address = netip.MustParseAddr("192.0.2.1").As16()
	if l.Serves(endpoint) {
		t.Error("serves a foreign address")
	}
}

func TestConfigurationPath(t *testing.T) {
	for arguments, want := range map[string]string{
		"/coredns\x00-conf\x00/etc/coredns/Corefile\x00": "/etc/coredns/Corefile",
		"/coredns\x00--conf=/x\x00":                      "/x",
		"/coredns\x00-dns.port=1053\x00":                 "Corefile",
		"/coredns\x00conf\x00-conf":                      "Corefile",
		"":                                               "Corefile",
	} {
		if got := configurationPath([]byte(arguments)); got != want {
			t.Errorf("%q: %q", arguments, got)
		}
	}
}

func TestSecretsAreStripped(t *testing.T) {
	const text = `.:53 {
    forward . 10.0.0.2 { max_concurrent 1000 }
    route53 example.org.:Z1 {
        aws_access_key AKIA0 topsecret1
    }
    etcd {
        credentials user topsecret2
        endpoint http://root:topsecret3@10.0.0.1:2379
    }
    tsig {
        secret name. dG9wc2VjcmV0NA==
    }
    azure group:zone {
        client_secret topsecret5
    }
    cache 30
}`
	got := StripSecrets(text)
	for _, secret := range []string{"topsecret", "dG9w", "AKIA0"} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is still there:\n%s", secret, got)
		}
	}
	for _, kept := range []string{"max_concurrent 1000", "cache 30", "@10.0.0.1:2379", "credentials REDACTED"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is lost:\n%s", kept, got)
		}
	}
	if strings.Count(got, "\n") != strings.Count(text, "\n") {
		t.Error("lines are lost")
	}
	blocks, err := corefile.Parse(corefile.File{Text: text}, nil)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := json.Marshal(withoutSecrets(blocks))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"topsecret", "dG9w", "AKIA0"} {
		if strings.Contains(string(parsed), secret) {
			t.Errorf("%s is still there: %s", secret, parsed)
		}
	}
	for _, kept := range []string{`["max_concurrent","1000"]`, `"http://REDACTED@10.0.0.1:2379"`, `["credentials","REDACTED"]`} {
		if !strings.Contains(string(parsed), kept) {
			t.Errorf("%s is lost: %s", kept, parsed)
		}
	}
}

// TestCorefileOfAProcess reads this process's Corefile: its command line and working directory are faked, its root is
// not.
func TestCorefileOfAProcess(t *testing.T) {
	folder, proc := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(proc, "7"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"7/root": "/", "7/cwd": folder} {
		if err := os.Symlink(target, filepath.Join(proc, link)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(proc, "7/cmdline"), "/coredns\x00")
	write(filepath.Join(proc, "7/environ"), "UPSTREAM=10.1.0.9\x00EXTENSION=override\x00")
	write(filepath.Join(folder, "a.override"), "cache 30\n")
	write(filepath.Join(folder, "b.override"), "etcd {\n credentials x topsecret\n}\n")
	write(filepath.Join(folder, "c.server"), "no Corefile {")
	write(filepath.Join(folder, "Corefile"), ". {\n forward . {$UPSTREAM}\n import *.{$EXTENSION}\n import *.none\n}\n")
	text, parsed, err := ReadCorefile(proc, 7)
	want := `[{"zones":["."],"plugins":[{"name":"forward","args":[".","{$UPSTREAM}"],"options":[]},{"name":"cache","args":["30"],"options":[]},` +
		`{"name":"etcd","args":[],"options":[["credentials","REDACTED"]]}]}]`
	if err != nil || parsed != want || !strings.HasPrefix(text, ". {\n forward") {
		t.Errorf("%s\n%s, %v", text, parsed, err)
	}
	if s := readCoreDNS(proc, 7, 53); len(s.Upstreams) != 1 || s.Upstreams[0].Address != "10.1.0.9" || s.NegativeCache != "yes" {
		t.Errorf("%+v", s)
	}
	for _, wrong := range []string{". {\n import gone\n}\n", ". {\n import /*/passwd\n}\n", ". {\n import [a-z]*\n}\n", ". {\n"} {
		write(filepath.Join(folder, "Corefile"), wrong)
		if text, parsed, err := ReadCorefile(proc, 7); err == nil || parsed != "" || text != wrong {
			t.Errorf("%q: %q, %q", wrong, text, parsed)
		}
		if s := readCoreDNS(proc, 7, 53); s.Known {
			t.Errorf("%q: %+v", wrong, s)
		}
	}
}
