package dns

import (
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source/sourcetest"
)

// TestDnsmasqCounters queries a server that counts like dnsmasq: the collector's own questions are hits, which are
// subtracted.
func TestDnsmasqCounters(t *testing.T) {
	var hits, misses atomic.Int64
	hits.Store(100)
	misses.Store(7)
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: listener, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		name := question.Question[0].Name
		text := map[string]string{
			"version.bind.": "dnsmasq-2.90", "hits.bind.": strconv.FormatInt(hits.Add(1), 10), "misses.bind.": strconv.FormatInt(misses.Load(), 10),
		}[name]
		answer.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeTXT, Class: dns.ClassCHAOS}, Txt: []string{text}}}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	proc, address := t.TempDir(), listener.LocalAddr().String()
	pid, _ := sourcetest.AddProcess(t, proc, "dnsmasq", "/")
	found := &oneServer{process: procwatch.Process{PID: pid, DNS: "dnsmasq"}, address: address}
	d := &dnsmasqCounters{}
	r := sourcetest.Start(t, sourcetest.Setup{Proc: proc, Sources: []sampler.Source{found}})
	// Its loop waits ten seconds between two queries: here the test decides when it sends.
	d.registry, d.shared, d.watched = found.registry, sharedDNS(found.registry), make(map[*procwatch.Process]*dnsmasqProcess)
	list := d.follow()
	if len(list) != 1 {
		t.Fatalf("%d processes", len(list))
	}
	defer list[0].disconnect()
	d.visit(list[0])
	hits.Add(20)
	misses.Add(3)
	d.visit(list[0])
	if !list[0].fresh || list[0].hits != 20 || list[0].misses != 3 {
		t.Errorf("%v hits and %v misses", list[0].hits, list[0].misses)
	}
	if got := r.Fact(address, "dns.version"); got != "2.90" {
		t.Errorf("version %q", got)
	}
}
