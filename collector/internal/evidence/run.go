package evidence

import (
	"errors"
	"io"
	"time"
)

// Options of one analysis.
type Options struct {
	Limits     Limits
	Slowest    int       // query rows in the report
	QueriesCSV io.Writer // nil: none
	Progress   func(Progress)
	Every      time.Duration // between calls of Progress
}

// Progress is how far an analysis has come; bytes are those of the file on disk.
type Progress struct {
	Kind       string `json:"kind"`
	BytesRead  int64  `json:"bytes_read"`
	BytesTotal *int64 `json:"bytes_total"`
	Packets    uint64 `json:"packets"`
}

// packetsBetweenClocks is how many packets pass between clock readings.
const packetsBetweenClocks = 4096

// Analyze reads a capture of size bytes (negative: unknown) and reports. It fails with a *NotCaptureError, or if the
// input cannot be read; a file that is damaged or too large further on yields a report of what was read.
func Analyze(input io.Reader, size int64, o Options) (*Report, error) {
	source, err := openSource(input, o.Limits)
	if err != nil {
		return nil, err
	}
	packets, err := openPackets(source)
	if err != nil {
		return nil, err
	}
	analyzer := NewAnalyzer(o.Slowest, o.QueriesCSV)
	facts := packets.about()
	next := time.Now().Add(o.Every)
	progress := func() {
		p := Progress{Kind: "progress", BytesRead: source.raw.bytes.Load(), Packets: analyzer.packets}
		if size >= 0 {
			p.BytesTotal = &size
		}
		if o.Progress != nil {
			o.Progress(p)
		}
	}
	var p packet
	for err == nil {
		if err = packets.next(&p); err != nil {
			break
		}
		analyzer.packet(&p, facts.links[p.link].number)
		if analyzer.packets%packetsBetweenClocks == 0 && o.Every > 0 {
			if now := time.Now(); now.After(next) {
				progress()
				next = now.Add(o.Every)
			}
		}
	}
	var stop *stopError
	if !errors.Is(err, io.EOF) && !errors.As(err, &stop) {
		return nil, err
	}
	progress()
	analyzer.end()
	if analyzer.csvError != nil {
		return nil, analyzer.csvError
	}
	return analyzer.report(source, facts, stop), nil
}

// report assembles everything. The tables that indexes refer to come last.
func (a *Analyzer) report(source *source, facts *captureFacts, stop *stopError) *Report {
	t := newTables()
	r := &Report{Kind: kindReport, Schema: Schema, File: a.fileFacts(source, facts, stop)}
	r.Servers, r.ServersLeftOut = a.serverRows(t)
	r.Clients, r.ClientsLeftOut = a.clientRows()
	r.Totals = totalsReport{
		a.total.counts, latencyOf(&a.total.latency), len(r.Servers) + r.ServersLeftOut, len(r.Clients) + r.ClientsLeftOut, a.total.inFlightMax,
	}
	r.Ports = a.portRows()
	r.Names = a.nameRows()
	r.Queries = a.queryRows(t)
	rows := a.unansweredRows
	r.Unanswered = unansweredReport{columnsOf(rows, uint64(len(rows)) == a.total.counts.Unanswered, t)}
	r.TCP = a.tcpRows(t)
	r.Forwarding = a.forwardingRows(t)
	r.Series = a.seriesRows(t)
	r.CannotTell = a.limitsOfFile(&r.File)
	r.Endpoints, r.Addresses, r.Texts = t.endpoints.texts, t.addresses.texts, t.texts.texts
	return r
}

func (a *Analyzer) fileFacts(source *source, facts *captureFacts, stop *stopError) fileReport {
	f := fileReport{
		Format: facts.format, Bytes: source.raw.bytes.Load(), InflatedBytes: source.inflated.bytes, Packets: a.packets, CutPackets: a.cut,
		FirstAtUs: maybeUs(a.firstNs, a.packets > 0), LastAtUs: maybeUs(a.nowNs, a.packets > 0), ResolutionNs: facts.resolutionNs,
		LinkTypes: []linkReport{}, Skipped: a.skipped, IPFragments: a.fragments, Tunnelled: a.tunnelled, ClockStepsBack: a.stepsBack, Disordered: a.disordered,
	}
	if source.inflated.gzip {
		compression := "gzip"
		f.Compression = &compression
	}
	for _, use := range facts.links {
		_, _, readable := networkLayer(use.number, nil)
		f.LinkTypes = append(f.LinkTypes, linkReport{use.number, linkName(use.number), use.packets, readable})
	}
	if facts.dropsKnown {
		f.ReportedDrops = &facts.drops
	}
	if stop != nil {
		f.Stopped = &stop.reason
	}
	return f
}
