package dnsservers

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/corefile"
)

// The Corefile that NodeLocal DNSCache has on GKE, as of github.com/kubernetes/kubernetes
// cluster/addons/dns/nodelocaldns, and one with other things that a Corefile can contain.
const (
	nodeLocal = `cluster.local:53 {
    errors
    cache {
            success 9984 30
            denial 9984 5
    }
    reload
    loop
    bind 169.254.20.10 10.0.0.10
    forward . 10.0.12.34 {
            force_tcp
            expire 1s
    }
    prometheus :9253
    health 169.254.20.10:8080
    }
in-addr.arpa:53 {
    errors
    cache 30
    forward . 10.0.12.34 {
            force_tcp
    }
    }
.:53 {
    errors
    cache 30
    forward . /etc/resolv.conf {
      prefer_udp
    }
    }
`
	unusual = `(common) {
    errors # of all
    cache 10 {
        disable denial
    }
}
Example.Org, example.net:1053 {
    import common
    forward . dns://10.1.0.1:5300 tls://9.9.9.9%dns.quad9.net [2001:db8::1]:53 {$UPSTREAM} {
        max_concurrent 1000
        policy sequential
        health_check 5s
        tls { servername "dns quad9" }
        force_tcp
    }
    forward sub.example.org 10.1.0.2
}
10.1.0.0/16 {
    kubernetes cluster.local { pods insecure }
}
https://.:443 {
    forward . 10.9.9.9
}`
)

func resolvers(path string) []string {
	if path == "/etc/resolv.conf" {
		return []string{"169.254.169.254", "2001:db8::53"}
	}
	return nil
}

func environment(name string) string { return map[string]string{"UPSTREAM": "10.1.0.9"}[name] }

// settingsOf returns the settings from a Corefile without imports, empty if it cannot be parsed.
func settingsOf(t testing.TB, text string, usual, port uint16) Settings {
	t.Helper()
	blocks, err := corefile.Parse(corefile.File{Path: "Corefile", Text: text}, func(string, string) ([]corefile.File, error) { return nil, errors.New("there is none") })
	if err != nil {
		return Settings{}
	}
	expandAll(blocks, environment)
	return coreDNSSettings(blocks, usual, port, resolvers)
}

func TestNodeLocalCorefile(t *testing.T) {
	s := settingsOf(t, nodeLocal, 53, 53)
	want := []Upstream{
		{Zone: "cluster.local", Address: "10.0.12.34", Port: 53, ForceTCP: true, ExpireS: 1},
		{Zone: "in-addr.arpa", Address: "10.0.12.34", Port: 53, ForceTCP: true},
		{Zone: ".", Address: "169.254.169.254", Port: 53, PreferUDP: true},
		{Zone: ".", Address: "2001:db8::53", Port: 53, PreferUDP: true},
	}
	if !reflect.DeepEqual(s.Upstreams, want) || s.NegativeCache != "yes" || !s.Known {
		t.Errorf("%+v", s)
	}
	var read []map[string]any
	if err := json.Unmarshal([]byte(s.UpstreamsJSON()), &read); err != nil || len(read) != 4 {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read[1], map[string]any{"zone": "in-addr.arpa", "address": "10.0.12.34", "port": 53.0, "force_tcp": true}) {
		t.Errorf("%v: keys that are not set are there", read[1])
	}
}

func TestUnusualCorefile(t *testing.T) {
	s := settingsOf(t, unusual, 1053, 1053)
	var got []string
	for _, u := range s.Upstreams {
		if u.MaxConcurrent != 1000 && u.Address != "10.1.0.2" || u.Policy != "sequential" && u.Address != "10.1.0.2" {
			t.Errorf("%+v", u)
		}
		got = append(got, u.Zone+" "+u.Address+" "+string(rune('0'+u.Port%10)))
	}
	want := []string{
		"example.org 10.1.0.1 0", "example.org 9.9.9.9 3", "example.org 2001:db8::1 3", "example.org 10.1.0.9 3",
		"example.net 10.1.0.1 0", "example.net 9.9.9.9 3", "example.net 2001:db8::1 3", "example.net 10.1.0.9 3",
		"sub.example.org 10.1.0.2 3",
	}
	if !reflect.DeepEqual(got, want) || s.NegativeCache != "no" {
		t.Errorf("%q, negative cache %q", got, s.NegativeCache)
	}
	if other := settingsOf(t, unusual, 1053, 5353); len(other.Upstreams) != 0 || other.NegativeCache != "" {
		t.Errorf("a port of no block: %+v", other)
	}
}

func TestNegativeCacheOfCorefiles(t *testing.T) {
	for corefile, want := range map[string]string{
		". {\n forward . 1.1.1.1\n}":                                              "no",
		". {\n forward . 1.1.1.1\n cache\n}":                                      "yes",
		". {\n forward . 1.1.1.1\n cache {\n disable success\n}\n}":               "yes",
		". {\n forward . 1.1.1.1\n cache 30 example.org\n}":                       "",
		". {\n forward . 1.1.1.1\n cache 30 {\n disable denial example.org\n}\n}": "",
		". {\n forward . 1.1.1.1\n import /etc/coredns/more\n}":                   "",
		". {\n forward . 1.1.1.1\n cache\n}\nx {\n forward . 1.1.1.1\n}":          "",
		". {\n forward . 1.1.1.1\n cache\n}\nx {\n whoami\n}":                     "yes",
		".:53\nforward . 1.1.1.1\ncache 5":                                        "yes",
		". {\n kubernetes cluster.local\n cache 30\n}":                            "yes",
		". {\n forward . 1.1.1.1 {\n":                                             "", // CoreDNS does not start with it
		"":                                                                        "",
	} {
		if s := settingsOf(t, corefile, 53, 53); s.NegativeCache != want {
			t.Errorf("%q: %q instead of %q", corefile, s.NegativeCache, want)
		}
	}
}

// kubeDNS is dnsmasq's command line in kube-dns, cluster/addons/dns/kube-dns/kube-dns.yaml.in.
var kubeDNS = strings.Fields(`/usr/sbin/dnsmasq -k --cache-size=1000 --no-negcache --dns-loop-detect --log-facility=-
	--server=/cluster.local/127.0.0.1#10053 --server=/in-addr.arpa/127.0.0.1#10053 --server=/ip6.arpa/127.0.0.1#10053`)

func TestDnsmasqOfKubeDNS(t *testing.T) {
	s := dnsmasqSettings(kubeDNS, parseArguments(kubeDNS), resolvers)
	want := []Upstream{
		{Zone: "cluster.local", Address: "127.0.0.1", Port: 10053}, {Zone: "in-addr.arpa", Address: "127.0.0.1", Port: 10053},
		{Zone: "ip6.arpa", Address: "127.0.0.1", Port: 10053}, {Zone: ".", Address: "169.254.169.254", Port: 53},
		{Zone: ".", Address: "2001:db8::53", Port: 53},
	}
	if !reflect.DeepEqual(s.Upstreams, want) || s.ChildLimit != 20 || s.NegativeCache != "no" || s.NoIdent ||
		s.Arguments != strings.Join(kubeDNS, " ") {
		t.Errorf("%+v", s)
	}
}

func TestDnsmasqOptions(t *testing.T) {
	files := map[string]string{
		"/etc/dnsmasq.d/10.conf": "server=/corp.example/sub.corp.example/10.2.0.1#5353@eth0 # the company's\nmax-tcp-connections=50\nconf-file=/etc/dnsmasq.d/10.conf\n",
		"/etc/dnsmasq.d/20.bak":  "no-negcache\n",
		"/etc/servers":           "server=2001:db8::7\nserver=/only.here/\nserver=/usual.example/#\nrev-server=10.3.0.0/16,10.2.0.2\n",
	}
	follow := optionFiles{
		read: func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		},
		list: func(string) ([]string, error) { return []string{"20.bak", "10.conf", ".hidden.conf"}, nil },
	}
	arguments := []string{"dnsmasq", "-kRc0", "-S10.2.0.9", "-S", "/a.example/10.2.0.8#54", "--conf-dir", "/etc/dnsmasq.d,*.conf", "--servers-file=/etc/servers",
		"--no-ident", "--dhcp-secret-key=topsecret", "--server=http://user:topsecret@x", "-C", "/none"}
	s := dnsmasqSettings(arguments, follow.follow(parseArguments(arguments)), resolvers)
	want := []Upstream{
		{Zone: ".", Address: "10.2.0.9", Port: 53}, {Zone: "a.example", Address: "10.2.0.8", Port: 54},
		{Zone: "corp.example", Address: "10.2.0.1", Port: 5353}, {Zone: "sub.corp.example", Address: "10.2.0.1", Port: 5353},
		{Zone: ".", Address: "2001:db8::7", Port: 53}, {Zone: "3.10.in-addr.arpa", Address: "10.2.0.2", Port: 53},
	}
	if !reflect.DeepEqual(s.Upstreams, want) || s.ChildLimit != 50 || s.NegativeCache != "no" || !s.NoIdent {
		t.Errorf("%+v", s)
	}
	if strings.Contains(s.Arguments, "topsecret") || !strings.Contains(s.Arguments, "--dhcp-secret-key=REDACTED") {
		t.Errorf("arguments %q", s.Arguments)
	}
}

func TestParseResolvConf(t *testing.T) {
	got := ParseResolvConf("# of a pod\nnameserver 169.254.20.10\nnameserver ::1%lo\nsearch a.svc.cluster.local svc.cluster.local. Cluster.Local\n" +
		"options ndots:5 timeout:2 ndots:5\n;nameserver 1.1.1.1\nnameserver nonsense\nsearch\n")
	want := ResolvConf{
		Nameservers: []string{"169.254.20.10", "::1"}, Search: []string{"a.svc.cluster.local", "svc.cluster.local", "cluster.local"},
		NDots: 5, Options: []string{"ndots:5", "timeout:2"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if text, err := json.Marshal(ParseResolvConf("")); string(text) != `{"nameservers":[],"search":[],"ndots":1,"options":[]}` || err != nil {
		t.Errorf("%s", text)
	}
}

func TestReverseZones(t *testing.T) {
	for network, want := range map[string]string{
		"10.0.0.0/8": "10.in-addr.arpa", "10.1.2.0/24": "2.1.10.in-addr.arpa", "10.1.2.3": "3.2.1.10.in-addr.arpa",
		"2001:db8::/32": "8.b.d.0.1.0.0.2.ip6.arpa", "10.128.0.0/9": "10.in-addr.arpa", "Example.": "example",
	} {
		if got := reverseZone(network); got != want {
			t.Errorf("%s: %s", network, got)
		}
	}
}

func FuzzCorefile(f *testing.F) {
	f.Add(nodeLocal)
	f.Add(unusual)
	f.Add("a { b {\n c \"d\n {$X} {%Y%} {$")
	f.Add("0\nforward . 0 { {")
	f.Add("a{%}") // a reference that opens and closes with the same character
	f.Fuzz(func(t *testing.T, corefile string) { settingsOf(t, corefile, 53, 53) })
}

func FuzzDnsmasqArguments(f *testing.F) {
	f.Add(strings.Join(kubeDNS, " "))
	f.Add("x -S")
	f.Fuzz(func(_ *testing.T, line string) {
		arguments := strings.Split(line, " ")
		dnsmasqSettings(arguments, parseArguments(arguments), resolvers)
	})
}
