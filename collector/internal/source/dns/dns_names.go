package dns

import (
	"context"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() {
	source.Register("dns_names", func() sampler.Source { return &dnsNames{} }, "dns_capture")
}

// dnsNames reports which names were looked up most, by which clients and with what result: every 10 s, and at once
// after a trigger. The packets are those of dns_capture; a query counts when it is answered or given up.
type dnsNames struct {
	registry *sampler.Registry
	shared   *dnsShared
	top      dnscapture.TopNames // reused
	rows     []byte
}

func (d *dnsNames) Name() string { return "dns_names" }

func (d *dnsNames) Start(ctx context.Context, registry *sampler.Registry) error {
	d.registry, d.shared = registry, sharedDNS(registry)
	if d.shared.noPackets != nil {
		return d.shared.noPackets
	}
	d.shared.tracker.CountNames()
	registry.Every(ctx, 250*time.Millisecond, d.take)
	return nil
}

func (d *dnsNames) take() {
	for _, server := range *d.shared.servers.Load() {
		if d.shared.tracker.TakeNames(server.Server, &d.top) {
			d.report(server)
		}
	}
}

func (d *dnsNames) report(server *dnsServer) {
	top := &d.top
	d.registry.Event(server.Resource(), "dns.names", top.FromUS, top.ToUS-top.FromUS, map[string]string{
		"rows": string(d.encode(top.Rows)), "queries": strconv.FormatUint(top.Queries, 10),
		"nxdomain": strconv.FormatUint(top.NXDomain, 10), "servfail": strconv.FormatUint(top.Servfail, 10),
		"names": strconv.FormatUint(top.Names, 10), "latency_sum_us": strconv.FormatUint(top.LatencyUS, 10),
	})
}

// encode writes as many rows as fit, as a JSON list of lists.
func (d *dnsNames) encode(rows []dnscapture.NameRow) []byte {
	d.rows = batch.AppendRows(d.rows[:0], batch.MaxAttributeBytes, len(rows), func(out []byte, i int) []byte {
		return appendRow(out, &rows[i])
	})
	return d.rows
}

// appendRow writes [client, name, type, queries, nxdomain, servfail, latency_sum_us]. Names are already printable ASCII
// (dnswire.AppendQuestion), so only quotes and backslashes need JSON escapes.
func appendRow(out []byte, row *dnscapture.NameRow) []byte {
	out = append(out, '[', '"')
	out = append(out, dnscapture.Text(row.Client)...)
	out = append(out, '"', ',')
	out = append(appendJSON(out, row.Name), ',')
	out = append(appendJSON(out, row.Type), ',')
	out = append(strconv.AppendUint(out, uint64(row.Queries), 10), ',')
	out = append(strconv.AppendUint(out, uint64(row.NXDomain), 10), ',')
	out = append(strconv.AppendUint(out, uint64(row.Servfail), 10), ',')
	return append(strconv.AppendUint(out, row.LatencyUS, 10), ']')
}

func appendJSON(out, text []byte) []byte {
	out = append(out, '"')
	for _, c := range text {
		if c == '"' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return append(out, '"')
}

func (d *dnsNames) Sample(sampler.Tick, *sampler.Recorder) {}

func (d *dnsNames) Close() error { return nil }
