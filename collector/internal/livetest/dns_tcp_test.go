package livetest

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
)

const tcpSources = "dns_capture,dns_tcp,process,process_children"

// TestDnsmasqRunsOutOfChildren opens more TCP connections than a dnsmasq serves, step by step: below its limit, above
// it, and more than its accept queue holds.
func TestDnsmasqRunsOutOfChildren(t *testing.T) {
	t.Parallel()
	upstream, server := freeAddress(t, "127.0.0.1"), freeAddress(t, "127.0.0.1")
	startServer(t, nil, buildDNSServer(t), upstream)
	command := startDnsmasq(t, nil, server, upstream)
	o := observe(t, tcpSources)
	o.needs("dns_tcp")
	o.needs("process_children")
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
	process := o.processOf(server)
	if !isOf(process, command.Process.Pid) {
		t.Fatalf("the server is below %q instead of %d", process, command.Process.Pid)
	}
	reach := func(what string, want map[uint32]float64) {
		t.Helper()
		waitFor(t, fmt.Sprint(what, ": ", want), func() bool {
			for metric, value := range want {
				key := server
				if metric == catalogue.ProcessChildren {
					key = process
				}
				if o.last(key, metric) != value {
					return false
				}
			}
			return true
		})
	}
	ask(t, "udp", server, "a.example.") // the client gets its own path
	connections := connect(t, server, 15)
	reach("below the limit", map[uint32]float64{
		catalogue.ProcessChildren: 15, catalogue.DNSTcpConnections: 15, catalogue.DNSAcceptBacklog: 0, catalogue.DNSTcpCloseWait: 0,
	})
	reach("quiet", map[uint32]float64{catalogue.DNSTcpIdle: 15})
	if triggers := o.triggers(server, "accept_backlog"); len(triggers) != 0 {
		t.Errorf("asked for a diagnosis at %v without a backlog", triggers)
	}

	full := time.Now()
	connections = append(connections, connect(t, server, 15)...)
	reach("above the limit", map[uint32]float64{
		catalogue.ProcessChildren: 20, catalogue.DNSTcpConnections: 30, catalogue.DNSAcceptBacklog: 10, catalogue.DNSTcpIdle: 20,
	})
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", command.Process.Pid, command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if got := o.last("127.0.0.1>"+server, catalogue.DNSTcpConnections); got != 30 {
		t.Errorf("%v connections on the client's path", got)
	}
	var since int64 // the first of two ticks in a row that ended with a backlog
	points := o.series(server, catalogue.DNSAcceptBacklog)
	for i := range len(points) - 1 {
		if points[i].value > 0 && points[i+1].value > 0 {
			since = points[i].startUS
			break
		}
	}
	if triggers := o.triggers(server, "accept_backlog"); len(triggers) == 0 || triggers[0]-since < 200_000 || triggers[0]-since > 500_000 {
		t.Errorf("asked for a diagnosis at %v; the backlog was there from %d on", triggers, since)
	}
	if drops := o.sum(server, catalogue.DNSListenDrops, time.Unix(0, 0)); drops != 0 {
		t.Errorf("%v connections were dropped while there was room", drops)
	}

	for range 40 { // the queue holds 32 and one more
		if c, err := net.DialTimeout("tcp", server, 20*time.Millisecond); err == nil {
			connections = append(connections, c)
			defer func() { _ = c.Close() }()
		}
	}
	reach("overflowing", map[uint32]float64{catalogue.ProcessChildren: 20, catalogue.DNSAcceptBacklog: 33})
	waitFor(t, "drops and overflows", func() bool {
		return o.sum(server, catalogue.DNSListenDrops, full) > 0 && o.sum(server, catalogue.DNSListenOverflows, full) > 0
	}, func() string {
		return fmt.Sprintf("%v drops, %v overflows; %d of 70 connections were made", o.sum(server, catalogue.DNSListenDrops, full),
			o.sum(server, catalogue.DNSListenOverflows, full), len(connections))
	})

	_ = unix.Kill(-command.Process.Pid, unix.SIGSTOP)
	for _, c := range connections {
		_ = c.Close()
	}
	reach("closed by the clients alone", map[uint32]float64{catalogue.DNSTcpConnections: 0, catalogue.DNSTcpCloseWait: 53})
	_ = unix.Kill(-command.Process.Pid, unix.SIGCONT)
	reach("over", map[uint32]float64{catalogue.ProcessChildren: 0, catalogue.DNSAcceptBacklog: 0, catalogue.DNSTcpCloseWait: 0})
	o.stop()
	for key := range o.processes() {
		pid, _, _ := strings.Cut(key, ":")
		if slices.Contains(strings.Fields(string(children)), pid) {
			t.Errorf("the child %s is watched as a process of its own", key)
		}
	}
}

// TestConnectionsToUpstreams counts the connections that a dnsmasq's children make, and not those of another program to
// the same server.
func TestConnectionsToUpstreams(t *testing.T) {
	t.Parallel()
	upstream, server := freeAddress(t, "127.0.0.1"), freeAddress(t, "127.0.0.1")
	startServer(t, nil, buildDNSServer(t), upstream)
	startDnsmasq(t, nil, server, upstream)
	o := observe(t, tcpSources)
	o.needs("dns_tcp")
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) && o.hasResource(upstream) })
	connect(t, upstream, 3) // not dnsmasq's
	for i, c := range connect(t, server, 4) {
		message := new(dns.Msg)
		message.SetQuestion(fmt.Sprintf("n%d.example.", i), dns.TypeA)
		client := dns.Conn{Conn: c}
		if err := client.WriteMsg(message); err != nil {
			t.Fatal(err)
		}
		if _, err := client.ReadMsg(); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "4 connections to the upstream, all idle in the end", func() bool {
		return o.last(server, catalogue.DNSUpstreamConnections) == 4 && o.last(server, catalogue.DNSUpstreamIdle) == 4
	})
	if got := o.last(upstream, catalogue.DNSTcpConnections); got != 7 {
		t.Errorf("the upstream has %v connections", got)
	}
	// A connection that waits for an answer is not idle, on either side.
	message := new(dns.Msg)
	message.SetQuestion("delay-2500.example.", dns.TypeA)
	slow := connect(t, server, 1)[0]
	if err := (&dns.Conn{Conn: slow}).WriteMsg(message); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	time.Sleep(2400 * time.Millisecond)
	waitFor(t, "the answer came", func() bool {
		points := o.series(server, catalogue.DNSTcpIdle)
		return len(points) > 0 && points[len(points)-1].startUS > began.Add(2300*time.Millisecond).UnixMicro()
	})
	for key, wants := range map[string]map[uint32]float64{
		server: {catalogue.DNSTcpConnections: 5, catalogue.DNSTcpIdle: 4, catalogue.DNSUpstreamConnections: 5, catalogue.DNSUpstreamIdle: 4},
	} {
		for metric, want := range wants {
			for _, p := range o.series(key, metric) {
				if at := time.UnixMicro(p.startUS); at.After(began.Add(1300*time.Millisecond)) && at.Before(began.Add(2200*time.Millisecond)) && p.value != want {
					t.Errorf("metric %d is %v %v after the slow query instead of %v", metric, p.value, at.Sub(began), want)
				}
			}
		}
	}
}

// TestBacklogInANamespace is a dnsmasq in its own network namespace, as in a pod.
func TestBacklogInANamespace(t *testing.T) {
	t.Parallel()
	server := freeAddress(t, "127.0.0.1")
	command := startDnsmasq(t, inNamespace(t), server, "127.0.0.1:9", "--max-tcp-connections=3")
	o := observe(t, tcpSources)
	o.needs("dns_tcp")
	var stat unix.Stat_t
	waitFor(t, "the namespace", func() bool {
		var own unix.Stat_t
		_ = unix.Stat("/proc/self/ns/net", &own)
		return unix.Stat(fmt.Sprintf("/proc/%d/ns/net", command.Process.Pid), &stat) == nil && stat.Ino != own.Ino
	})
	key := fmt.Sprintf("%s@net:%d", server, stat.Ino)
	waitFor(t, "the server is known", func() bool { return o.hasResource(key) })
	err := netns.Do("/proc", command.Process.Pid, func() error {
		connect(t, server, 8)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "5 of 8 connections in the accept queue", func() bool {
		return o.last(key, catalogue.DNSAcceptBacklog) == 5 && o.last(key, catalogue.DNSTcpConnections) == 8 &&
			o.last(o.processOf(key), catalogue.ProcessChildren) == 3 && o.last(key, catalogue.DNSListenOverflows) == 0
	}, func() string {
		return fmt.Sprint(o.last(key, catalogue.DNSAcceptBacklog), o.last(key, catalogue.DNSTcpConnections), o.last(o.processOf(key), catalogue.ProcessChildren), o.last(key, catalogue.DNSListenOverflows))
	})
}

// triggers lists when a diagnosis of a resource was requested for a reason.
func (o *observer) triggers(key, reason string) (atUS []int64) {
	o.each(func(b *ingestpb.Batch) {
		for _, trigger := range b.Triggers {
			if trigger.Reason == reason && b.Resources[trigger.Resource].Key == key {
				atUS = append(atUS, trigger.AtUs)
			}
		}
	})
	return atUS
}

// processes are the keys of the watched processes.
func (o *observer) processes() map[string]bool {
	found := make(map[string]bool)
	o.each(func(b *ingestpb.Batch) {
		for _, resource := range b.Resources {
			if resource.Kind == ingestpb.ResourceKind_RESOURCE_KIND_PROCESS {
				found[resource.Key] = true
			}
		}
	})
	return found
}

// TestPoolOfAForwarder makes a real CoreDNS keep as many connections to its upstream as it needed at once, and shows
// who queries whom.
func TestPoolOfAForwarder(t *testing.T) {
	t.Parallel()
	upstream := freeAddress(t, "127.0.0.1")
	startServer(t, nil, buildDNSServer(t), upstream)
	server := freeAddress(t, "127.0.0.1")
	_, port := split(t, server)
	runCoreDNS(t, fmt.Sprintf(".:%s {\n bind 127.0.0.1\n forward . %s {\n  force_tcp\n  expire 30s\n  max_concurrent 500\n }\n}\n", port, upstream))
	o := observe(t, tcpSources+",dns_settings")
	o.needs("dns_tcp")
	waitFor(t, "both servers are known", func() bool { return o.hasResource(server) && o.hasResource(upstream) })
	const atOnce = 12
	var wait sync.WaitGroup
	for i := range atOnce {
		wait.Go(func() { ask(t, "udp", server, fmt.Sprintf("delay-%d.n.", 1500+i)) })
	}
	waitFor(t, "a connection for each query, none idle", func() bool {
		return o.last(server, catalogue.DNSUpstreamConnections) == atOnce && o.last(server, catalogue.DNSUpstreamIdle) == 0
	})
	wait.Wait()
	waitFor(t, "all of them idle", func() bool {
		return o.last(server, catalogue.DNSUpstreamIdle) == atOnce && o.last(upstream, catalogue.DNSTcpIdle) == atOnce &&
			o.last(upstream, catalogue.DNSTcpConnections) == atOnce && o.last(upstream, catalogue.DNSUpstreamConnections) <= 0
	})
	host, upstreamPort := split(t, upstream)
	want := fmt.Sprintf(`[{"zone":".","address":"%s","port":%s,"force_tcp":true,"max_concurrent":500,"expire_s":30}]`, host, upstreamPort)
	if got := o.fact(server, "dns.upstreams"); got != want || o.fact(server, "dns.negative_cache") != "no" {
		t.Errorf("upstreams %s, negative cache %q", got, o.fact(server, "dns.negative_cache"))
	}
}
