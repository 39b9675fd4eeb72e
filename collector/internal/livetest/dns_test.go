package livetest

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

const dnsSources = "dns_capture,dns_path_split,udp_socket,process"

// TestDNSIsCountedAndTimed compares what the collector reports with what the client did, over UDP and TCP, IPv4 and
// IPv6.
func TestDNSIsCountedAndTimed(t *testing.T) {
	t.Parallel()
	binary := buildDNSServer(t)
	for _, c := range []struct{ network, host string }{{"udp", "127.0.0.1"}, {"tcp", "127.0.0.1"}, {"udp", "::1"}, {"tcp", "::1"}} {
		t.Run(c.network+" "+c.host, func(t *testing.T) {
			server := freeAddress(t, c.host)
			startServer(t, nil, binary, server)
			o := observe(t, dnsSources)
			o.needs("dns_capture")
			waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
			time.Sleep(300 * time.Millisecond)
			ask(t, c.network, server, "warm.example.") // the client's first path
			time.Sleep(600 * time.Millisecond)

			names := []string{"nxdomain.", "nxdomain.", "servfail.", "refused.", "delay-35."}
			if c.network == "tcp" {
				names = append(names, "big.")
			}
			delays := make([]time.Duration, len(names))
			delays[4] = 35 * time.Millisecond
			for i := range 40 {
				names = append(names, fmt.Sprintf("delay-%d.example.", 2+i%8))
				delays = append(delays, time.Duration(2+i%8)*time.Millisecond)
			}
			from := nextTick()
			var latencies []time.Duration
			for _, name := range names {
				latencies = append(latencies, ask(t, c.network, server, name))
			}
			time.Sleep(1200 * time.Millisecond)
			o.stop()

			client := netip.MustParseAddrPort(server).Addr().String()
			for _, key := range []string{server, client + ">" + server} {
				for metric, want := range map[uint32]int{
					catalogue.DNSQueries: len(latencies), catalogue.DNSAnswers: len(latencies), catalogue.DNSNxdomain: 2,
					catalogue.DNSServfail: 1, catalogue.DNSRefused: 1, catalogue.DNSTimeouts: 0,
				} {
					if got := o.sum(key, metric, from); got != float64(want) {
						t.Errorf("%s: metric %d is %v instead of %d", key, metric, got, want)
					}
				}
				// On a busy machine the client wakes up late and counts more answers as slow than there are.
				if slow := o.sum(key, catalogue.DNSSlow, from); slow < 1 || slow > float64(countSlow(latencies)) {
					t.Errorf("%s: %v slow answers, the client saw %d", key, slow, countSlow(latencies))
				}
			}
			checkQuantiles(t, o, server, from, delays, latencies)
		})
	}
}

// nextTick sleeps to the start of a tick.
func nextTick() time.Time {
	at := time.Now().Truncate(100 * time.Millisecond).Add(100 * time.Millisecond)
	time.Sleep(time.Until(at))
	return at
}

func countSlow(latencies []time.Duration) (slow int) {
	for _, latency := range latencies {
		if latency > 20*time.Millisecond {
			slow++
		}
	}
	return slow
}

// checkQuantiles wants the collector's quantiles between those of what the server slept and those of what the client
// waited: on a busy machine both wake up late, and the client's delay did not pass at the server.
func checkQuantiles(t *testing.T, o *observer, server string, from time.Time, delays, latencies []time.Duration) {
	t.Helper()
	slices.Sort(delays)
	slices.Sort(latencies)
	for _, q := range []float64{0.5, 0.9} {
		got, count := o.quantile(server, catalogue.DNSLatencyUS, from, q)
		at := int(q * float64(len(latencies)-1))
		least, most := float64(delays[at].Microseconds()), float64(latencies[at].Microseconds())
		if count != len(latencies) || got < 0.95*least || got > 1.05*most {
			t.Errorf("quantile %v of %d is %.0f us; the server slept %.0f us, the client waited %.0f us (%d)",
				q, count, got, least, most, len(latencies))
		}
	}
}

// TestSlowQueryIsCapturedWithItsNeighbours also checks names, results and the split into waiting and work.
func TestSlowQueryIsCapturedWithItsNeighbours(t *testing.T) {
	t.Parallel()
	server := freeAddress(t, "127.0.0.1")
	process := startServer(t, nil, buildDNSServer(t), server)
	o := observe(t, dnsSources)
	o.needs("dns_capture")
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
	time.Sleep(1500 * time.Millisecond) // the split learns the port in the next discovery
	from := time.Now()
	for i := range 30 {
		ask(t, "udp", server, fmt.Sprintf("q%d.example.", i))
		time.Sleep(20 * time.Millisecond)
	}
	ask(t, "udp", server, "delay-60.example.")
	for i := range 30 {
		ask(t, "udp", server, fmt.Sprintf("q%d.example.", 30+i))
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(3 * time.Second)
	o.stop()

	seen := make(map[string]uint32)
	waits := make(map[string]uint32)
	triggers := 0
	o.each(func(b *ingestpb.Batch) {
		for _, q := range b.Queries {
			for i := range q.OffsetUs {
				name := q.Names[q.Name[i]]
				if at := q.StartUs + int64(q.OffsetUs[i]); b.Resources[q.Server].Key != server || at < from.UnixMicro() {
					continue
				}
				if _, twice := seen[name]; twice {
					t.Errorf("%s is there twice", name)
				}
				seen[name] = q.LatencyUs[i]
				if q.QueueWaitUs != nil {
					waits[name] = q.QueueWaitUs[i]
				}
			}
		}
		for _, trigger := range b.Triggers {
			if trigger.Reason == "slow_query" && b.Resources[trigger.Resource].Key == server {
				triggers++
			}
		}
	})
	if len(seen) != 61 || triggers != 1 {
		t.Errorf("%d of 61 queries, %d triggers", len(seen), triggers)
	}
	if latency := seen["delay-60.example. A"]; latency < 60_000 || latency > 75_000 {
		t.Errorf("the slow query took %d us", latency)
	}
	if o.fact(server, "dns.path_split") == "available" {
		if wait, ok := waits["delay-60.example. A"]; !ok || wait > 20_000 || len(waits) < 58 {
			t.Errorf("the slow query waited %d us in the queue (%v); %d queries have waits", wait, ok, len(waits))
		}
	}
	if got := o.parents(server); len(got) < 3 || got[1][:len(fmt.Sprint(process.Process.Pid))] != fmt.Sprint(process.Process.Pid) {
		t.Errorf("the server is below %v", got)
	}
	if o.fact(server, "dns.software") != "unbound" || o.fact(server, "dns.udp_sockets") != "1" {
		t.Errorf("facts %q, %q", o.fact(server, "dns.software"), o.fact(server, "dns.udp_sockets"))
	}
}

// TestStoppedServerFillsItsQueue stops the server, so that queries wait in the socket, and overflows the queue.
func TestStoppedServerFillsItsQueue(t *testing.T) {
	t.Parallel()
	server := freeAddress(t, "127.0.0.1")
	process := startServer(t, nil, buildDNSServer(t), server)
	o := observe(t, dnsSources)
	o.needs("dns_path_split")
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
	time.Sleep(1500 * time.Millisecond)
	from := nextTick()
	burst := stopped(t, process, 400*time.Millisecond, func() { flood(t, server, 50) })
	time.Sleep(time.Second)
	drops := stopped(t, process, 400*time.Millisecond, func() { flood(t, server, 5000) })
	time.Sleep(1500 * time.Millisecond)
	o.stop()

	wait, count := o.quantile(server, catalogue.DNSQueueWaitUS, from, 0.5)
	work, _ := o.quantile(server, catalogue.DNSWorkUS, from, 0.5)
	total, _ := o.quantile(server, catalogue.DNSLatencyUS, from, 0.5)
	if count < 50 || wait < 250_000 || math.Abs(wait-total) > 0.5*total || work > 0.3*total {
		t.Errorf("%d queries: waited %.0f us, worked on for %.0f us, together %.0f us", count, wait, work, total)
	}
	peak := 0.0
	for _, p := range o.series(server, catalogue.DNSReceiveQueueBytes) {
		if p.startUS >= burst.UnixMicro() {
			peak = max(peak, p.value)
		}
	}
	if peak < 10_000 {
		t.Errorf("the receive queue held %v bytes at most", peak)
	}
	if dropped := o.sum(server, catalogue.DNSSocketDrops, drops.Add(-100*time.Millisecond)); dropped < 100 {
		t.Errorf("%v datagrams were dropped", dropped)
	}
}
