package livetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/gometrics"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// runCoreDNS runs a CoreDNS with this configuration and returns its log file.
func runCoreDNS(t testing.TB, corefile string) (log string) {
	t.Helper()
	directory := t.TempDir()
	path := filepath.Join(directory, "Corefile")
	if err := os.WriteFile(path, []byte(corefile), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := os.Create(filepath.Join(directory, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	command := exec.Command(coredns(t), "-conf", path)
	command.Stdout, command.Stderr = output, output
	if err := deathsig.Start(command); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return output.Name()
}

// nameTotals is the total of a server's dns.names events.
type nameTotals struct {
	queries, nxdomain, servfail int
	rows                        map[string][4]float64 // by client, name and type
}

func (o *observer) names(server string) nameTotals {
	totals := nameTotals{rows: make(map[string][4]float64)}
	for _, event := range o.events(server, "dns.names") {
		number := func(name string) int {
			n, err := strconv.Atoi(event.Attributes[name])
			if err != nil {
				o.t.Errorf("%s: %v", name, err)
			}
			return n
		}
		totals.queries += number("queries")
		totals.nxdomain += number("nxdomain")
		totals.servfail += number("servfail")
		var rows [][]any
		if err := json.Unmarshal([]byte(event.Attributes["rows"]), &rows); err != nil || len(rows) == 0 || len(event.Attributes["rows"]) > 4096 {
			o.t.Errorf("rows %q: %v", event.Attributes["rows"], err)
		}
		for _, row := range rows {
			key := fmt.Sprint(row[0], " ", row[1], " ", row[2])
			sum := totals.rows[key]
			for i := range sum {
				sum[i] += row[3+i].(float64)
			}
			totals.rows[key] = sum
		}
	}
	return totals
}

// events returns a resource's events of a kind.
func (o *observer) events(key, kind string) (found []*ingestpb.Event) {
	o.each(func(b *ingestpb.Batch) {
		for _, event := range b.Events {
			if event.Kind == kind && b.Resources[event.Resource].Key == key {
				found = append(found, event)
			}
		}
	})
	return found
}

// page reads the counters of a CoreDNS from its metrics page.
func page(t testing.TB, address string) gometrics.CoreDNS {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	sample, err := gometrics.Parse(response.Body, time.Now())
	if err != nil || !sample.CoreDNS.Present {
		t.Fatalf("%+v, %v", sample, err)
	}
	return sample.CoreDNS
}

// TestForwardingCoreDNS compares what the collector reports with what the client did and with CoreDNS's own counters:
// cache, upstream, connections; error lines by kind with upstream and name; names looked up, by client, type and
// result.
func TestForwardingCoreDNS(t *testing.T) {
	t.Parallel()
	upstream := freeAddress(t, "127.0.0.1")
	startServer(t, nil, buildDNSServer(t), upstream)
	server, metrics := freeAddress(t, "127.0.0.1"), freeAddress(t, "127.0.0.1")
	// A different address: among its many attempts CoreDNS would eventually send from this very port, and receive its
	// own query.
	nobody := freeAddress(t, "127.0.0.2")
	_, port, _ := strings.Cut(server, ":")
	log := runCoreDNS(t, fmt.Sprintf(`.:%s {
 bind 127.0.0.1
 errors
 cache 300
 forward . %s {
  force_tcp
  expire 1s
 }
 prometheus %s
}
nobody.test:%s {
 bind 127.0.0.1
 errors
 forward . %s
}
`, port, upstream, metrics, port, nobody))
	o := observe(t, "coredns_metrics,dns_errors,dns_names,go_runtime,"+dnsSources)
	o.needs("dns_capture")
	waitFor(t, "the server is known", func() bool { return o.hasResource(server) })
	time.Sleep(time.Second)

	const names = 30
	for range 2 { // the second time from the cache
		for i := range names {
			ask(t, "udp", server, fmt.Sprintf("host%d.example.", i))
		}
	}
	ask(t, "udp", server, "nxdomain.")
	ask(t, "udp", server, "servfail.")
	ask(t, "udp", server, "a.nobody.test.")
	ask(t, "tcp", server, "drop.example.")
	asked := 2*names + 4
	waitFor(t, "the error lines are written", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), "i/o timeout") && strings.Contains(string(text), "connection refused")
	}, func() string {
		text, err := os.ReadFile(log)
		return fmt.Sprintf("the log says %s, %v", text, err)
	})
	counters := page(t, metrics)
	// Another scrape of the page, and the span of the names: 10 s at most.
	waitFor(t, "the counters arrive", func() bool {
		return o.sum(server, catalogue.CorednsCacheMisses, time.Time{}) >= counters.CacheMisses && o.names(server).queries >= asked &&
			o.sum(server, catalogue.CorednsForwardErrors, time.Time{}) >= counters.ForwardErrors // health checks continue
	})
	o.stop()
	after := page(t, metrics)

	if counters.CacheHits < names || counters.ForwardRequests < names+2 || counters.ForwardErrors < 1 || counters.ConnMisses < 1 {
		t.Errorf("CoreDNS did not do what the test wants: %+v", counters)
	}
	for metric, want := range map[uint32][2]float64{
		catalogue.CorednsCacheHits:            {counters.CacheHits, after.CacheHits},
		catalogue.CorednsCacheMisses:          {counters.CacheMisses, after.CacheMisses},
		catalogue.CorednsForwardRequests:      {counters.ForwardRequests, after.ForwardRequests},
		catalogue.CorednsForwardTimeUS:        {counters.ForwardSeconds*1e6 - 1, after.ForwardSeconds*1e6 + 1},
		catalogue.CorednsForwardErrors:        {counters.ForwardErrors, after.ForwardErrors},
		catalogue.CorednsConnCacheHits:        {counters.ConnHits, after.ConnHits},
		catalogue.CorednsConnCacheMisses:      {counters.ConnMisses, after.ConnMisses},
		catalogue.CorednsMaxConcurrentRejects: {0, 0}, catalogue.CorednsPanics: {0, 0},
	} {
		points := o.series(server, metric)
		if got := o.sum(server, metric, time.Time{}); len(points) == 0 || got < want[0] || got > want[1] {
			t.Errorf("metric %d is %v, CoreDNS counted %v to %v", metric, got, want[0], want[1])
		}
	}
	o.expectErrors(server, map[string][2]string{
		"io_timeout": {upstream, "drop.example."}, "connection_refused": {nobody, "a.nobody.test."},
	})
	totals := o.names(server)
	if totals.queries != asked || totals.nxdomain != 1 || totals.servfail < 2 || totals.servfail > 3 { // CoreDNS gives up "drop." after about 5 s
		t.Errorf("%+v, asked %d", totals, asked)
	}
	for key, want := range map[string][3]float64{
		"127.0.0.1 host7.example. A": {2, 0, 0}, "127.0.0.1 nxdomain. A": {1, 1, 0}, "127.0.0.1 servfail. A": {1, 0, 1},
	} {
		if row := totals.rows[key]; row[0] != want[0] || row[1] != want[1] || row[2] != want[2] || row[3] <= 0 {
			t.Errorf("%s: %v instead of %v", key, row, want)
		}
	}
}

// expectErrors expects an event of each of these kinds, with upstream and name, and a trigger.
func (o *observer) expectErrors(server string, kinds map[string][2]string) {
	o.t.Helper()
	for kind, want := range kinds {
		found := false
		for _, event := range o.events(server, "dns.error") {
			a := event.Attributes
			count, err := strconv.Atoi(a["count"])
			found = found || (a["kind"] == kind && a["upstream"] == want[0] && a["name"] == want[1] && err == nil && count > 0 &&
				strings.HasPrefix(a["line"], "[ERROR] plugin/errors: 2 "+want[1]+" A: "))
		}
		if !found {
			o.t.Errorf("no event of %s, but %v", kind, o.events(server, "dns.error"))
		}
	}
	triggers := 0
	o.each(func(b *ingestpb.Batch) {
		for _, trigger := range b.Triggers {
			if trigger.Reason == "dns_error" {
				triggers++
			}
		}
	})
	if triggers == 0 {
		o.t.Error("errors did not ask for a diagnosis")
	}
}
