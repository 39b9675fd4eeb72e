package procwatch

import (
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/goruntime"
)

func TestServersAreRecognized(t *testing.T) {
	for executable, want := range map[string]string{
		"coredns": "coredns", "coredns-v1.12.0": "coredns", "coredns_1.9.3": "coredns", "dnsmasq": "dnsmasq",
		"unbound-1.17": "unbound", "named": "named", "coredns-exporter": "", "nginx": "", "mynamed": "",
	} {
		if got := serverName(executable, nil); got != want {
			t.Errorf("%s is %q", executable, got)
		}
	}
	if got := serverName("dns", &goruntime.Info{MainModule: "github.com/coredns/coredns@v1.11.1"}); got != "coredns" {
		t.Errorf("a renamed CoreDNS is %q", got)
	}
}

func TestCgroupOf(t *testing.T) {
	for text, want := range map[string]string{
		"12:cpu,cpuacct:/a\n3:memory:/b\n0::/c\n": "/a",
		"0::/kubepods/pod1\n":                     "/kubepods/pod1",
		"4:cpu:/with:colon\n1:name=systemd:/x\n":  "/with:colon",
		"3:cpuset:/a\n":                           "/",
		"":                                        "/",
	} {
		if got := CgroupOf([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
