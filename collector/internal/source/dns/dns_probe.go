package dns

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/priority"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("dns_probe", func() sampler.Source { return &dnsProbe{} }) }

// dnsProbe sends the queries of clients to DNS servers and measures how long the answers take.
type dnsProbe struct {
	registry *sampler.Registry
	probes   []*probe
	wait     sync.WaitGroup
}

// probeOptions is the table [sources.dns_probe].
type probeOptions struct {
	Targets []probeTarget `toml:"targets"`
}

type probeTarget struct {
	Name       string  `toml:"name"`        // "kubernetes.default.svc.cluster.local"
	Type       string  `toml:"type"`        // "A"
	Server     string  `toml:"server"`      // "10.96.0.10:53"; empty: the first of /etc/resolv.conf
	IntervalMS float64 `toml:"interval_ms"` // 1000; at least 10
	TimeoutMS  float64 `toml:"timeout_ms"`  // 2000
}

// probe is one target. Its goroutine counts, Sample takes.
type probe struct {
	question dns.Question
	server   string
	interval time.Duration
	timeout  time.Duration

	resource       batch.ResourceID
	sent, failures batch.Slot

	mu          priority.Mutex
	sentCount   uint32
	failedCount uint32
	latency     batch.Histogram
}

func (d *dnsProbe) Name() string { return "dns_probe" }

func (d *dnsProbe) Start(ctx context.Context, registry *sampler.Registry) error {
	d.registry = registry
	var options probeOptions
	if err := registry.Options(&options); err != nil {
		return err
	}
	if len(options.Targets) == 0 {
		return &sampler.Off{Detail: "no targets are configured in [sources.dns_probe]"}
	}
	for _, target := range options.Targets {
		p, err := newProbe(target)
		if err != nil {
			return err
		}
		p.mu.Ordinary = registry.IsOrdinary()
		key := strings.TrimSuffix(p.question.Name, ".") + "/" + dns.TypeToString[p.question.Qtype] + "@" + p.server
		p.resource = registry.Resource(ingestpb.ResourceKind_RESOURCE_KIND_PROBE, key, batch.Node)
		p.sent, p.failures = registry.Series(p.resource, catalogue.ProbeSent), registry.Series(p.resource, catalogue.ProbeFailures)
		d.probes = append(d.probes, p)
	}
	for _, p := range d.probes {
		d.wait.Go(func() { p.run(ctx, &d.wait) })
	}
	return nil
}

var errNoServer = errors.New("no server is configured and /etc/resolv.conf names none")

func newProbe(target probeTarget) (*probe, error) {
	if target.Type == "" {
		target.Type = "A"
	}
	queryType, ok := dns.StringToType[strings.ToUpper(target.Type)]
	if !ok {
		return nil, fmt.Errorf("dns_probe target %q: type %q is not known", target.Name, target.Type)
	}
	if _, ok := dns.IsDomainName(target.Name); !ok || target.Name == "" {
		return nil, fmt.Errorf("dns_probe target: %q is not a domain name", target.Name)
	}
	server, err := probeServer(target.Server)
	if err != nil {
		return nil, fmt.Errorf("dns_probe target %q: %w", target.Name, err)
	}
	p := &probe{
		question: dns.Question{Name: dns.Fqdn(target.Name), Qtype: queryType, Qclass: dns.ClassINET}, server: server,
		interval: time.Second, timeout: 2 * time.Second,
	}
	if target.IntervalMS != 0 {
		p.interval = max(time.Duration(target.IntervalMS*float64(time.Millisecond)), 10*time.Millisecond)
	}
	if target.TimeoutMS > 0 {
		p.timeout = time.Duration(target.TimeoutMS * float64(time.Millisecond))
	}
	return p, nil
}

func probeServer(server string) (string, error) {
	if server == "" {
		configuration, err := dns.ClientConfigFromFile("/etc/resolv.conf")
		if err != nil || len(configuration.Servers) == 0 {
			return "", errNoServer
		}
		return net.JoinHostPort(configuration.Servers[0], configuration.Port), nil
	}
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(server, "53")
	}
	return server, nil
}

// run sends on a fixed schedule, whether or not earlier probes were answered: a server that stalls must not receive
// fewer queries.
func (p *probe) run(ctx context.Context, wait *sync.WaitGroup) {
	time.Sleep(rand.N(p.interval)) // several collectors must not send at the same instant
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	slots := make(chan struct{}, 64)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		select {
		case slots <- struct{}{}:
			wait.Go(func() { p.ask(ctx); <-slots })
		default: // a timeout of many intervals: no more at once
		}
	}
}

func (p *probe) ask(ctx context.Context) {
	message := new(dns.Msg)
	message.SetQuestion(p.question.Name, p.question.Qtype)
	message.SetEdns0(1232, false)
	p.mu.Lock()
	p.sentCount++
	p.mu.Unlock()
	client := dns.Client{Net: "udp", Timeout: p.timeout}
	started := time.Now()
	answer, _, err := client.ExchangeContext(ctx, message, p.server)
	took := time.Since(started)
	if err != nil && ctx.Err() != nil {
		return // the collector stops
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || (answer.Rcode != dns.RcodeSuccess && answer.Rcode != dns.RcodeNameError) {
		p.failedCount++
		return
	}
	p.latency.Observe(took.Microseconds())
}

func (d *dnsProbe) Sample(_ sampler.Tick, recorder *sampler.Recorder) {
	for _, p := range d.probes {
		p.mu.Lock()
		recorder.Set(p.sent, float64(p.sentCount))
		recorder.Set(p.failures, float64(p.failedCount))
		recorder.Distribution(0, p.resource, catalogue.ProbeLatencyUS, &p.latency)
		p.sentCount, p.failedCount = 0, 0
		p.latency.Reset()
		p.mu.Unlock()
	}
}

func (d *dnsProbe) Close() error {
	d.wait.Wait()
	return nil
}
