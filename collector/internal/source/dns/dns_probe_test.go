package dns

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestDNSProbe queries a server that answers one name and refuses another.
func TestDNSProbe(t *testing.T) {
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: listener, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		if question.Question[0].Name == "refused.example." {
			answer.Rcode = dns.RcodeRefused
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	address := listener.LocalAddr().String()
	options := ""
	for _, name := range []string{"fine.example", "refused.example"} {
		options += fmt.Sprintf("[[targets]]\nname = %q\nserver = %q\ninterval_ms = 10\n", name, address)
	}
	r := sourcetest.Start(t, sourcetest.Setup{Options: options, Sources: []sampler.Source{&dnsProbe{}}})
	fine, refused := "fine.example/A@"+address, "refused.example/A@"+address
	r.Eventually("answers", func() bool {
		return r.Observed(fine, catalogue.ProbeLatencyUS) > 5 && total(r.Values(refused, catalogue.ProbeFailures)) > 5
	})
	if got := total(r.Values(fine, catalogue.ProbeFailures)); got != 0 {
		t.Errorf("%v failures of the one that is answered", got)
	}
	if sent, observed := total(r.Values(fine, catalogue.ProbeSent)), float64(r.Observed(fine, catalogue.ProbeLatencyUS)); sent < observed {
		t.Errorf("%v answers to %v questions", observed, sent)
	}
	if got := r.Observed(refused, catalogue.ProbeLatencyUS); got != 0 {
		t.Errorf("%d latencies of failures", got)
	}
}

func TestDNSProbeOptions(t *testing.T) {
	for options, want := range map[string]string{
		"":                                       "OFF: no targets",
		"[[targets]]\nname = ''\nserver = '::1'": "UNAVAILABLE: dns_probe target: \"\" is not a domain name",
		"[[targets]]\nname = 'a'\nserver = '::1'\ntype = 'XYZ'": "UNAVAILABLE: dns_probe target \"a\": type \"XYZ\" is not known",
	} {
		r := sourcetest.Start(t, sourcetest.Setup{Options: options, Sources: []sampler.Source{&dnsProbe{}}})
		if got := r.Status("dns_probe"); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q", options, got)
		}
	}
}
